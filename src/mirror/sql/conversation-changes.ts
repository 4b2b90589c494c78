/** Changes of conversations: the history that the service does not keep, and the children that become pending. */
import { sql } from 'kysely'
import type { tables } from '../../../schema/tables.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { batchesOf, inList } from '../../warehouse/dialect.ts'
import { newId } from '../../warehouse/new-id.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { EncodedRow } from './encode-value.ts'
import { columnText, type InsertPlan } from './insert-plan.ts'
import { addPendingChildren, markChildrenPending } from './pending-children.ts'

/** Columns whose history is recorded. */
const trackedColumns = [
  'status',
  'last_message_at',
  'last_message_sender_type',
  'handled_at',
  'waiting_since',
  'assigned_agent_id',
  'origin',
] as const satisfies readonly (keyof (typeof tables)['conversations']['columns'])[]

/** Tracked columns that change with every new message, even one with an earlier time. */
const messageColumns = [
  'last_message_at',
  'last_message_sender_type',
] as const satisfies readonly (typeof trackedColumns)[number][]

type StoredConversations = ReadonlyMap<string, Readonly<Record<string, string | null>>>

const idOf = (plan: InsertPlan, row: EncodedRow) => columnText(plan, row, 'id') ?? ''

/** The conversations of a page as they are stored before the page. */
export async function readStoredConversations(
  { db, kind, project }: ProjectDb,
  plan: InsertPlan,
  rows: readonly EncodedRow[],
): Promise<StoredConversations> {
  const ids = rows.map((row) => idOf(plan, row))
  const { rows: stored } = await sql<Record<string, string | null>>`
    select id, deleted_at, synced_at, ${sql.join(trackedColumns.map((name) => sql.ref(name)))} from conversations
    where project_id = ${project} and id ${inList(kind, ids)}`.execute(db)
  return new Map(stored.map((row) => [row.id ?? '', row]))
}

/** Conversations to read again by id, because a list may have returned a stale copy of them. */
export const recheckSet = 'conversations:check'

/**
 * Conversations that a list shows with a different last message than the mirror has, and that were not stored. The copy
 * may be stale, or a message may be dated before the one it follows; reading the conversation by id decides.
 */
export function findIdsToRecheck({ plan, rows, before, stored }: ConversationPage): string[] {
  return rows.flatMap((row) => {
    const id = idOf(plan, row)
    const previous = before.get(id)
    if (previous === undefined || previous.last_message_at === null || stored.has(id)) return []
    return previous.last_message_at === columnText(plan, row, 'last_message_at') ? [] : [id]
  })
}

/** `before`: the conversations as they were. `stored`: the ids of those that were new or changed. */
type ConversationPage = {
  readonly plan: InsertPlan
  readonly rows: readonly EncodedRow[]
  readonly before: StoredConversations
  readonly stored: ReadonlySet<string>
  readonly requestedAt: EpochMs
}

/** Records the history of the stored conversations, and marks children pending that may have new rows. */
export async function recordChanges(trx: ProjectDb, page: ConversationPage): Promise<void> {
  const { plan, before, requestedAt } = page
  const rows = page.rows.filter((row) => page.stored.has(idOf(plan, row)))
  const withNewMessages = rows.filter((row) => {
    const previous = before.get(idOf(plan, row))
    if (previous === undefined || previous.deleted_at !== null) return true
    return messageColumns.some((name) => previous[name] !== columnText(plan, row, name))
  })
  const values = (name: string) => withNewMessages.flatMap((row) => columnText(plan, row, name) ?? [])
  await addPendingChildren(trx, 'messages', values('id'), requestedAt)
  await markChildrenPending(trx, 'visitor_activity', [...new Set(values('visitor_id'))], requestedAt)
  const changes = rows.flatMap((row) => diffConversation(trx.project, page, row))
  // At most 800 parameters per statement.
  for (const batch of batchesOf(changes, 100)) await trx.db.insertInto('conversation_changes').values(batch).execute()
}

function diffConversation(project: ProjectId, { plan, before, requestedAt }: ConversationPage, row: EncodedRow) {
  const id = idOf(plan, row)
  const previous = before.get(id)
  if (previous === undefined) return []
  const change = { project_id: project, conversation_id: id, seen_at: toTimestamp(requestedAt) }
  return trackedColumns
    .map((field) => ({ field, old_value: previous[field] ?? null, new_value: columnText(plan, row, field) }))
    .filter(({ old_value, new_value }) => old_value !== new_value)
    .map((values) => ({ ...change, id: newId(requestedAt), ...values, old_read_at: previous.synced_at ?? null }))
}
