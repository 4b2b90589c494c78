/** Reads write-backs and their event logs for people. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import { collectReasons, type ReasonGroup } from '../../core/outbox/group-reasons.ts'
import type { EventLogEntry, OutboxEntry } from '../../core/outbox/outbox-entry.ts'
import type { StatusCounts, WritebackStatus } from '../../core/outbox/state.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import { toTimestamp } from '../../core/time.ts'
import { decodeJson, decodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { filterSql } from './filter.ts'
import { effectiveStatus } from './open-decisions.ts'

const entryColumns = sql`id, seq, operation, conversation_id as "conversationId", visitor_id as "visitorId", payload,
  attempts, batch_id as "batchId", ref, expect, expires_at as "expiresAt", created_at as "createdAt",
  created_by as "createdBy", sent_at as "sentAt", finished_at as "finishedAt", request_id as "requestId",
  message_id as "messageId", error, step, approved_by as "approvedBy", decided_by as "decidedBy", stopped_by as "stoppedBy",
  undo_until as "undoUntil", epoch, seen`

/** As it is stored. `seen`: what the mirror showed of its target when it was queued. */
export type EntryRow = Omit<OutboxEntry, 'payload' | 'undoUntil'> & {
  readonly payload: string
  readonly undoUntil: number | null
  readonly seen: string | null
}

export async function selectEntryRows(
  context: ProjectDb,
  filter: OutboxFilter,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<readonly EntryRow[]> {
  const status = await effectiveStatus(context)
  const { rows } = await sql<EntryRow>`
    select ${entryColumns}, ${status} as status from writebacks
    where project_id = ${context.project} and ${which} and ${filterSql(context.kind, filter, status)} ${order}`.execute(
    context.db,
  )
  return rows
}

export function toEntry(kind: DatabaseKind, { seen: _, ...row }: EntryRow): OutboxEntry {
  const text = (stored: string | null) => (stored === null ? null : decodeText(stored))
  return {
    ...row,
    payload: JSON.parse(decodeJson(kind, row.payload)),
    ref: text(row.ref),
    createdBy: text(row.createdBy),
    undoUntil: row.undoUntil === null ? null : toTimestamp(row.undoUntil),
  }
}

export async function listEntries(
  context: ProjectDb,
  ...selection: [filter: OutboxFilter, which: RawBuilder<unknown>, order: RawBuilder<unknown>]
): Promise<OutboxEntry[]> {
  return (await selectEntryRows(context, ...selection)).map((row) => toEntry(context.kind, row))
}

/** Ids of one import begin alike, as they ascend with time; their ends differ. */
export async function findIds({ db, project }: ProjectDb, part: string): Promise<string[]> {
  if (part === '') return []
  // A whole id needs no search through all of them.
  const exact = await sql`select 1 from writebacks where project_id = ${project} and id = ${part}`.execute(db)
  if (exact.rows.length > 0) return [part]
  const pattern = part.replace(/[%_\\]/g, '\\$&')
  const { rows } = await sql<{ id: string }>`
    select id from writebacks where project_id = ${project}
      and (id like ${`${pattern}%`} escape '\\' or id like ${`%${pattern}`} escape '\\')
    order by seq limit 3`.execute(db)
  return rows.map(({ id }) => id)
}

export async function listEvents({ db, project }: ProjectDb, id: string): Promise<EventLogEntry[]> {
  const { rows } = await sql<EventLogEntry>`
    select at, from_status as "from", to_status as "to", detail, request_id as "requestId", person
    from writeback_events
    where project_id = ${project} and writeback_id = ${id} order by seq`.execute(db)
  return [...rows]
}

export async function countByStatus(context: ProjectDb, filter: OutboxFilter): Promise<StatusCounts> {
  // Pending cancellations affect only these statuses.
  const isAffected = filter.statuses?.some((wanted) => ['draft', 'queued', 'cancelled'].includes(wanted)) ?? true
  const status = isAffected ? await effectiveStatus(context) : sql`status`
  const { rows } = await sql<{ status: WritebackStatus; count: number }>`
    select ${status} as status, count(*) as count from writebacks
    where project_id = ${context.project} and ${filterSql(context.kind, filter, status)} group by 1`.execute(context.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

export async function listLatestEvents(context: ProjectDb, filter: OutboxFilter, limit: number) {
  const { db, kind, project } = context
  const { rows } = await sql<EventLogEntry & { readonly writebackId: string }>`
    select event.writeback_id as "writebackId", event.at, event.from_status as "from", event.to_status as "to", event.detail,
      event.request_id as "requestId", event.person
    from writeback_events event where event.project_id = ${project} and event.writeback_id in
      (select id from writebacks where project_id = ${project} and ${filterSql(kind, filter)})
    order by event.seq desc limit ${limit}`.execute(db)
  return rows
}

export async function countByOperation(context: ProjectDb, filter: OutboxFilter) {
  const status = await effectiveStatus(context)
  const { rows } = await sql<{ operation: Operation; status: WritebackStatus; count: number }>`
    select operation, ${status} as status, count(*) as count from writebacks
    where project_id = ${context.project} and ${filterSql(context.kind, filter, status)}
    group by 1, 2 order by 1, 2`.execute(context.db)
  return rows
}

/** What did not succeed, and what waits for another attempt. */
export async function groupReasons(context: ProjectDb, filter: OutboxFilter): Promise<readonly ReasonGroup[]> {
  const { db, kind, project } = context
  const status = await effectiveStatus(context)
  const { rows } = await sql<{ status: WritebackStatus; reason: string; count: number; example: string }>`
    select ${status} as status, coalesce(error, step, '') as reason, count(*) as count, min(id) as example from writebacks
    where project_id = ${project} and ${filterSql(kind, filter, status)}
      and (status in ('failed','conflict','uncertain','expired','cancelled')
        or (status in ('queued','sending') and step is not null))
    group by 1, 2 order by min(id)`.execute(db)
  return collectReasons(rows)
}
