/** What an import asks about its rows before it queues them. */
import { type RawBuilder, sql } from 'kysely'
import { teamSenderTypes } from '../../mirror/core/message-fields.ts'
import { inAnyCase, listParameter } from '../../warehouse/dialect.ts'
import { decodeJson, decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { toLaneName } from '../core/operations.ts'
import type { Writeback } from '../core/outbox-entry.ts'
import { effectiveStatus, type OutboxRow, outboxColumns, toWriteback } from './row.ts'

/**
 * Replies in conversations: ours, and messages of the team in the mirror. Sent since this time, or
 * perhaps, or still to be sent. `sentAt`: RFC 3339; null if it is still to be sent.
 */
export async function listReplies(
  context: ProjectDb,
  conversations: readonly string[],
  since: string,
) {
  if (conversations.length === 0) return []
  const own = await listOwnReplies(context, conversations, since)
  return [...own, ...(await listTeamMessages(context, conversations, since))]
}

/** By ref, by the same rule as an insert. Without deleted words nothing can be compared. */
export async function findQueuedRefs(
  context: ProjectDb,
  refs: readonly string[],
): Promise<ReadonlyMap<string, Writeback>> {
  if (refs.length === 0) return new Map()
  const { db, kind } = context
  const stored = [...new Set(refs)].map((ref) => encodeText(kind, ref))
  const { rows } = await sql<OutboxRow>`
    select status, ${outboxColumns} from ${rowsOfEach(context, stored, 'writebacks', 'ref')}
    where status not in ('failed','conflict') and erased_at is null`.execute(db)
  return new Map(rows.map((row) => [decodeText(row.ref ?? ''), toWriteback(kind, row)]))
}

async function listOwnReplies(context: ProjectDb, conversations: readonly string[], since: string) {
  const { db, kind, typed } = context
  const status = await effectiveStatus(context)
  // One that was queued again may have been sent long ago.
  const isWaiting = sql`${status} in ('draft','queued')`
  const lanes = conversations.map((id) => toLaneName('conversation', id))
  const { rows } = await sql<{ conversation: string; payload: string; sentAt: string | null }>`
    select conversation_id as conversation, payload,
      case when ${isWaiting} then null else sent_at end as "sentAt"
    from ${rowsOfEach(context, lanes, 'writebacks', 'lane')}
    where operation = 'message' and (${isWaiting}
    or ${status} in ('sending','succeeded','uncertain')
      and (sent_at is null or sent_at >= ${typed('time', since)}))`.execute(db)
  return rows.map(({ conversation, payload, sentAt }) => ({
    conversation,
    content: String(JSON.parse(decodeJson(kind, payload)).content ?? ''),
    sentAt,
  }))
}

async function listTeamMessages(
  context: ProjectDb,
  conversations: readonly string[],
  since: string,
) {
  const { db, typed } = context
  const { rows } = await sql<{ conversation: string; content: string; sentAt: string | null }>`
    select conversation_id as conversation, content, created_at as "sentAt"
    from ${rowsOfEach(context, inAnyCase(conversations), 'messages', 'conversation_id')}
    where content is not null and coalesce(created_at, created_at) >= ${typed('time', since)}
      and lower(sender_type) in
      (${sql.join(teamSenderTypes.map((type) => sql.lit(type)))})`.execute(db)
  return rows.map(({ conversation, content, sentAt }) => ({
    conversation,
    content: decodeText(content),
    sentAt,
  }))
}

/**
 * By the index that begins with this column. Without statistics, planners take one by time or
 * status: SQLite keeps the order of a cross join, Postgres that of a lateral subquery with an
 * offset.
 */
function rowsOfEach(
  { kind, project }: ProjectDb,
  values: readonly string[],
  table: 'messages' | 'writebacks',
  column: 'conversation_id' | 'lane' | 'ref',
): RawBuilder<unknown> {
  const rows = sql.ref(table)
  const key = sql.ref(column)
  const listed = listParameter(kind, values)
  return kind === 'sqlite'
    ? sql`${listed} as listed cross join ${rows} on project_id = ${project}
      and ${key} = listed.value`
    : sql`${listed} as listed cross join lateral (select * from ${rows}
      where project_id = ${project}
        and ${key} >= listed.value and ${key} <= listed.value offset 0) as ${rows}`
}
