/** What happened earlier in a lane, by the `seq` of the event log, as machines' clocks differ. */
import { type RawBuilder, sql } from 'kysely'
import { inList, rowsParameter } from '../../warehouse/dialect.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { isCorrection, type Operation, type WritebackPayload } from '../core/operations.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import { matchesPayload, noOwnEdits, type OwnEdits } from '../core/review/guards.ts'
import type { WritebackStatus } from '../core/state.ts'
import { effectOf } from '../core/writeback-request.ts'
import { operationSql } from './row.ts'

/** Ids of messages in the lane that are matched to a write-back. */
export async function listMatchedMessageIds(
  { db, project }: ProjectDb,
  lane: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ message_id: string }>`
    select message_id from writebacks
    where project_id = ${project} and lane = ${lane} and message_id is not null`.execute(db)
  return new Set(rows.map((row) => row.message_id))
}

/** The `seq` of the last matching event of the row in `table`; 0 if there is none. */
export function lastEventSeq(
  condition: RawBuilder<unknown> = sql`true`,
  table: 'writebacks' | 'own' = 'writebacks',
): RawBuilder<number> {
  return sql`(select coalesce(max(event.seq), 0) from writeback_events event
    where event.project_id = ${sql.ref(`${table}.project_id`)}
    and event.writeback_id = ${sql.ref(`${table}.id`)}
      and ${condition})`
}

/** A person queued it again after it had ended. */
const reopeningSql = sql`event.from_status in ('failed','conflict','cancelled','expired')`

/** The mirror's view of the target was stored: it was queued, or queued again. */
const queuedSql = sql`(event.from_status is null or ${reopeningSql})`

export const successSql = sql`event.to_status = 'succeeded'`

/**
 * With the same words, and no known message among these, as the id in an answer need not be that of
 * the message: it may be one of them, or become visible only now.
 */
export async function countUnmatchedDuplicates(
  { db, kind, project }: ProjectDb,
  { id }: Writeback,
  payload: WritebackPayload['message'],
  shown: readonly { readonly id: string }[],
): Promise<number> {
  const ids = new Set(shown.map(({ id }) => id))
  const { rows } = await sql<{ payload: string; messageId: string | null }>`
    select writebacks.payload, writebacks.message_id as "messageId"
    from writebacks own join writebacks
    on writebacks.project_id = own.project_id
      and writebacks.lane = own.lane and writebacks.id <> own.id
    where own.project_id = ${project} and own.id = ${id} and writebacks.operation = 'message'
      and writebacks.status = 'succeeded'
      and ${lastEventSeq(successSql)} > ${lastEventSeq(queuedSql, 'own')}`.execute(db)
  return rows.filter((row) => {
    const { content, sender_name }: WritebackPayload['message'] = JSON.parse(
      decodeJson(kind, row.payload),
    )
    const isUnmatched = row.messageId === null || !ids.has(row.messageId)
    return isUnmatched && matchesPayload({ content, senderName: sender_name }, payload)
  }).length
}

/** By the id of the correction. */
export async function readOwnEdits(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, OwnEdits>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{
    id: string
    operation: Operation
    payload: string
    isLater: number
  }>`
    select own.id, writebacks.operation, writebacks.payload,
      case when ${lastEventSeq(successSql)} > ${lastEventSeq(queuedSql, 'own')}
        then 1 else 0 end as "isLater"
    from writebacks own join writebacks on writebacks.project_id = own.project_id
      and writebacks.lane = own.lane and writebacks.id <> own.id
      and ${operationSql(isCorrection, sql`writebacks.operation`)}
      and writebacks.status = 'succeeded' and writebacks.erased_at is null
    where own.project_id = ${project} and own.id ${inList(kind, ids)}
    order by ${lastEventSeq(successSql)}`.execute(db)
  const found = new Map<string, OwnEdits>()
  for (const { id, operation, payload, isLater } of rows) {
    const { ownEdit, lastOwnEdit } = found.get(id) ?? noOwnEdits
    const edit = effectOf({ operation, payload: JSON.parse(decodeJson(kind, payload)) })
    found.set(id, {
      ownEdit: isLater === 1 ? { ...ownEdit, ...edit } : ownEdit,
      lastOwnEdit: { ...lastOwnEdit, ...edit },
    })
  }
  return found
}

/** Of the same import (or the same time of creation); null if there is none. */
export async function findPreviousReplyStatus(
  { db, project }: ProjectDb,
  { id }: Writeback,
): Promise<WritebackStatus | null> {
  const { rows } = await sql<{ status: WritebackStatus; changed: number; reopened: number }>`
    select writebacks.status, ${lastEventSeq()} as changed,
    ${lastEventSeq(reopeningSql, 'own')} as reopened
    from writebacks
    join writebacks own on own.project_id = writebacks.project_id and own.lane = writebacks.lane
    where writebacks.project_id = ${project} and own.id = ${id} and writebacks.operation = 'message'
      and writebacks.seq < own.seq and writebacks.batch_id is not distinct from own.batch_id
      and (own.batch_id is not null or writebacks.created_at = own.created_at)
    order by writebacks.seq desc limit 1`.execute(db)
  const before = rows[0]
  // A person who queued it again knew the outcome of the earlier ones.
  return before === undefined || before.reopened > before.changed ? null : before.status
}

/** When a person last queued it again after it had ended (RFC 3339); null if nobody did. */
export async function findRequeueing(
  { db, project }: ProjectDb,
  { id }: Writeback,
): Promise<string | null> {
  const { rows } = await sql<{ at: string | null }>`select ${requeuedAtSql('writebacks')} as at
    from writebacks where project_id = ${project} and id = ${id}`.execute(db)
  return rows[0]?.at ?? null
}

export function requeuedAtSql(table: 'writebacks' | 'own'): RawBuilder<unknown> {
  return sql`(select max(event.at) from writeback_events event
    where event.project_id = ${sql.ref(`${table}.project_id`)}
      and event.writeback_id = ${sql.ref(`${table}.id`)} and ${reopeningSql})`
}

/** The mirrored messages of a conversation, and the latest of their times (RFC 3339). */
export async function readMirroredMessages({ db, project }: ProjectDb, conversation: string) {
  const { rows } = await sql<{ id: unknown; at: string | null }>`
    select id, created_at as at from messages
    where project_id = ${project} and conversation_id in (${conversation},
    ${conversation.toLowerCase()})`.execute(db)
  const times = rows.flatMap(({ at }) => at ?? [])
  return {
    ids: new Set(rows.map(({ id }) => String(id))),
    newest: times.reduce((a, b) => (a > b ? a : b), '') || null,
  }
}

/**
 * For each visitor the conversation with that message, else the latest one, in their order; null if
 * the mirror has none.
 */
export async function findConversations(
  { db, kind, project }: ProjectDb,
  sought: readonly { readonly visitor: string; readonly messageId: string | null }[],
): Promise<readonly (string | null)[]> {
  if (sought.length === 0) return []
  const rows = sought.map(({ visitor, messageId }, place) => ({ place, visitor, messageId }))
  const found = await sql<{ id: string | null }>`
    select (select id from conversations where project_id = ${project} and deleted_at is null
        and visitor_id in (sought.visitor, lower(sought.visitor), upper(sought.visitor))
      order by case when exists (select 1 from messages where messages.project_id = ${project}
          and conversation_id = conversations.id and messages.id = sought."messageId")
        then 0 else 1 end, last_message_at desc limit 1) as id
    from ${rowsParameter(kind, { place: 'integer', visitor: 'text', messageId: 'integer' }, rows)}
      as sought order by sought.place`.execute(db)
  return found.rows.map(({ id }) => id)
}
