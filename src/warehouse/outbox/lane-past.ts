/**
 * What was done in a lane before, over SQL. What came after what is read from the log: the machines that write into the
 * queue have clocks of their own.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Outbox, Writeback } from '../../core/outbox/outbox.ts'
import type { Status } from '../../core/outbox/state.ts'
import { bound } from '../database/dialect.ts'
import { decodeJson } from '../database/escape.ts'
import type { Context } from '../mirror/context.ts'

type C = Pick<Context, 'db' | 'kind' | 'project'>

type LanePast = Pick<
  Outbox,
  'provenMessages' | 'hasUnplacedEqual' | 'ownEdit' | 'replyBefore' | 'mirroredMessages' | 'conversationOf'
>

export function lanePastOf(c: C): LanePast {
  return {
    provenMessages: (lane) => provenMessages(c, lane),
    hasUnplacedEqual: (one) => hasUnplacedEqual(c, one),
    ownEdit: (one, field) => ownEdit(c, one, field),
    replyBefore: (one) => replyBefore(c, one),
    mirroredMessages: (conversation) => mirroredMessages(c, conversation),
    conversationOf: (visitor, messageId) => conversationOf(c, visitor, messageId),
  }
}

async function provenMessages(c: C, lane: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ message_id: string }>`
    select message_id from writebacks where project_id = ${c.project} and lane = ${lane} and message_id is not null`.execute(
    c.db,
  )
  return new Set(rows.map((row) => row.message_id))
}

/** The last event of `writebacks` in the log, of those that fit; 0 = there is none. */
function lastEvent(fitting: RawBuilder<unknown> = sql`true`): RawBuilder<number> {
  return sql`(select coalesce(max(event.seq), 0) from writeback_events event
    where event.project_id = writebacks.project_id and event.writeback_id = writebacks.id and ${fitting})`
}

/** When a person came back to it after it had ended. */
const broughtBack = sql`event.from_status in ('failed','conflict','cancelled','expired')`

/** When somebody noted what the mirror shows: as it was queued, or brought back. */
async function notedAt(c: C, { id }: Writeback): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    select ${lastEvent(sql`(event.from_status is null or ${broughtBack})`)} as seq from writebacks
    where project_id = ${c.project} and id = ${id}`.execute(c.db)
  return rows[0]?.seq ?? 0
}

const arrived = sql`event.to_status = 'succeeded'`

async function hasUnplacedEqual(c: C, one: Writeback): Promise<boolean> {
  const { rows } = await sql`
    select 1 from writebacks where project_id = ${c.project} and lane = ${one.lane} and id <> ${one.id}
      and operation = 'message' and status = 'succeeded' and message_id is null
      and payload = (select payload from writebacks mine where mine.project_id = ${c.project} and mine.id = ${one.id})
      and ${lastEvent(arrived)} > ${await notedAt(c, one)} limit 1`.execute(c.db)
  return rows.length > 0
}

async function ownEdit(c: C, one: Writeback, field: 'name' | 'email'): Promise<string | null | undefined> {
  const { rows } = await sql<{ payload: string }>`
    select payload from writebacks where project_id = ${c.project} and lane = ${one.lane} and id <> ${one.id}
      and operation = 'visitor' and status = 'succeeded' and ${lastEvent(arrived)} > ${await notedAt(c, one)}
    order by ${lastEvent(arrived)} desc`.execute(c.db)
  for (const row of rows) {
    const payload: { name?: string | null; email?: string | null } = JSON.parse(decodeJson(c.kind, row.payload))
    if (payload[field] !== undefined) return payload[field]
  }
  return undefined
}

async function replyBefore(c: C, one: Writeback): Promise<Status | null> {
  const { rows } = await sql<{ status: Status; told: number }>`
    select writebacks.status, ${lastEvent()} as told from writebacks
    join writebacks mine on mine.project_id = writebacks.project_id and mine.lane = writebacks.lane
    where writebacks.project_id = ${c.project} and mine.id = ${one.id} and writebacks.operation = 'message'
      and writebacks.seq < mine.seq and writebacks.batch_id is not distinct from mine.batch_id
      and (mine.batch_id is not null or writebacks.created_at = mine.created_at)
    order by writebacks.seq desc limit 1`.execute(c.db)
  const before = rows[0]
  return before === undefined || (await broughtBackAt(c, one)) > before.told ? null : before.status
}

/** Whoever brought it back knew what had become of what was queued before it. */
async function broughtBackAt(c: C, { id }: Writeback): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    select ${lastEvent(broughtBack)} as seq from writebacks where project_id = ${c.project} and id = ${id}`.execute(
    c.db,
  )
  return rows[0]?.seq ?? 0
}

async function mirroredMessages(c: C, conversation: string) {
  const { rows } = await sql<{ id: unknown; at: string | null }>`
    select id, created_at as at from messages
    where project_id = ${c.project} and conversation_id in (${conversation}, ${conversation.toLowerCase()})`.execute(
    c.db,
  )
  const times = rows.flatMap(({ at }) => at ?? [])
  return { ids: new Set(rows.map(({ id }) => String(id))), newest: times.reduce((a, b) => (a > b ? a : b), '') || null }
}

async function conversationOf(c: C, visitor: string, messageId: string | null): Promise<string | null> {
  const holds =
    messageId === null
      ? sql`false`
      : sql`exists (select 1 from messages where messages.project_id = ${c.project}
    and conversation_id = conversations.id and messages.id = ${bound(c.kind, 'integer', BigInt(messageId))})`
  const { rows } = await sql<{ id: string }>`
    select id from conversations where project_id = ${c.project} and visitor_id = ${visitor} and deleted_at is null
    order by ${holds} desc, last_message_at desc limit 1`.execute(c.db)
  return rows[0]?.id ?? null
}
