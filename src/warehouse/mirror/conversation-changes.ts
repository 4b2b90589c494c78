/** Changes of conversations: the history that the service does not keep, and the children that become pending. */
import { sql } from 'kysely'
import type { tables } from '../../../schema/tables.ts'
import { toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { listParameter } from '../database/dialect.ts'
import { newId } from '../database/new-id.ts'
import type { SqlValue } from './encode-value.ts'
import { columnText, type InsertPlan } from './insert-plan.ts'
import { markChildrenPending, markKnownPending } from './pending-children.ts'
import type { ProjectContext } from './project-context.ts'

/** Columns whose history is recorded. */
export const trackedColumns = [
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

export type StoredConversations = ReadonlyMap<string, Readonly<Record<string, string | null>>>

/** The conversations of a page as they are stored before the page. */
export async function readStoredConversations(
  context: ProjectContext,
  trx: Db,
  plan: InsertPlan,
  rows: readonly SqlValue[][],
): Promise<StoredConversations> {
  const ids = rows.map((row) => columnText(plan, row, 'id') ?? '')
  const { rows: stored } = await sql<Record<string, string | null>>`
    select id, deleted_at, ${sql.join(trackedColumns.map((name) => sql.ref(name)))} from conversations
    where project_id = ${context.project} and id in (select value from ${listParameter(context.kind, ids)} as listed)`.execute(
    trx,
  )
  return new Map(stored.map((row) => [row.id ?? '', row]))
}

/** Conversations to read again by id, because a list may have returned a stale copy of them. */
export const recheckSet = 'conversations:check'

/**
 * Conversations that a list shows with a different last message than the mirror has, and that were not stored. The copy
 * may be stale, or a message may be dated before the one it follows; reading the conversation by id decides.
 */
export function findDisputedIds(
  plan: InsertPlan,
  rows: readonly SqlValue[][],
  storedBefore: StoredConversations,
  stored: ReadonlySet<string>,
): string[] {
  return rows.flatMap((row) => {
    const id = columnText(plan, row, 'id') ?? ''
    const previous = storedBefore.get(id)
    if (previous === undefined || previous.last_message_at === null || stored.has(id)) return []
    return previous.last_message_at === columnText(plan, row, 'last_message_at') ? [] : [id]
  })
}

/** Records the history of the stored conversations, and marks children pending that may have new rows. */
export async function recordChanges(
  context: ProjectContext,
  trx: Db,
  page: {
    plan: InsertPlan
    rows: readonly SqlValue[][]
    before: StoredConversations
    stored: ReadonlySet<string>
    requestedAt: number
  },
): Promise<void> {
  const { plan, before: storedBefore, requestedAt } = page
  const rows = page.rows.filter((row) => page.stored.has(columnText(plan, row, 'id') ?? ''))
  const withNewMessages = rows.filter((row) => {
    const previous = storedBefore.get(columnText(plan, row, 'id') ?? '')
    return (
      previous === undefined ||
      previous.deleted_at !== null ||
      messageColumns.some((name) => previous[name] !== columnText(plan, row, name))
    )
  })
  const columnValues = (name: string) =>
    withNewMessages.map((row) => columnText(plan, row, name)).filter((id) => id !== null)
  await markChildrenPending(context, trx, 'messages', columnValues('id'), requestedAt)
  await markKnownPending(context, trx, 'visitor_activity', [...new Set(columnValues('visitor_id'))], requestedAt)
  const changes = rows.flatMap((row) => diffConversation(context, plan, row, storedBefore, requestedAt))
  // At most 700 parameters per statement.
  for (let i = 0; i < changes.length; i += 100) {
    await trx
      .insertInto('conversation_changes')
      .values(changes.slice(i, i + 100))
      .execute()
  }
}

function diffConversation(
  context: ProjectContext,
  plan: InsertPlan,
  row: readonly SqlValue[],
  storedBefore: StoredConversations,
  requestedAt: number,
) {
  const id = columnText(plan, row, 'id') ?? ''
  const previous = storedBefore.get(id)
  if (previous === undefined) return []
  return trackedColumns
    .map((field) => ({ field, old_value: previous[field] ?? null, new_value: columnText(plan, row, field) }))
    .filter(({ old_value, new_value }) => old_value !== new_value)
    .map((change) => ({
      project_id: context.project,
      id: newId(requestedAt),
      conversation_id: id,
      ...change,
      seen_at: toTimestamp(requestedAt),
    }))
}
