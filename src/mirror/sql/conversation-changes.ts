/** Changes of conversations: the history that the service does not keep, and pending children. */
import type { tables } from '../../../schema/tables.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { batchesOf } from '../../warehouse/dialect.ts'
import { newId, type ProjectDb } from '../../warehouse/project-db.ts'
import { type EncodedRow, textOf, textsOf } from './encode-rows.ts'
import { addPendingChildren, markChildrenPending } from './pending-children.ts'
import { addToIdSet, recheckSet } from './seen-rows.ts'
import type { StoredRows } from './stored-ids.ts'

/** Tracked columns that change with every new message, even one with an earlier time. */
const messageColumns = ['last_message_at', 'last_message_sender_type'] as const

/** Columns whose history is recorded. */
const trackedColumns = [
  'status',
  ...messageColumns,
  'handled_at',
  'waiting_since',
  'assigned_agent_id',
  'origin',
] as const satisfies readonly (keyof (typeof tables)['conversations']['columns'])[]

/** What is to be read of conversations before others are stored. */
export const readBeforeChanges: readonly string[] = ['deleted_at', 'synced_at', ...trackedColumns]

/**
 * Records the history of the stored conversations, and marks children pending. Those that a list
 * shows with another last message, and that were not stored, are rechecked by id: the copy may be
 * stale, or a message dated before the one it follows. `stored`: ids that were new or changed.
 */
export async function recordChanges(
  trx: ProjectDb,
  rows: readonly EncodedRow[],
  before: StoredRows,
  stored: ReadonlySet<string>,
  requestedAt: EpochMs,
): Promise<void> {
  const withNewMessages: EncodedRow[] = []
  const changes = []
  const toRecheck: string[] = []
  for (const row of rows) {
    const id = textOf(row, 'id') ?? ''
    const previous = before.get(id)
    const differs = (name: string) => (previous?.[name] ?? null) !== textOf(row, name)
    if (!stored.has(id)) {
      if (previous !== undefined && previous.last_message_at !== null && differs('last_message_at'))
        toRecheck.push(id)
      continue
    }
    if (previous === undefined || previous.deleted_at !== null || messageColumns.some(differs))
      withNewMessages.push(row)
    if (previous === undefined) continue
    for (const field of trackedColumns.filter(differs))
      changes.push({
        project_id: trx.project,
        id: newId(requestedAt),
        conversation_id: id,
        field,
        old_value: previous[field] ?? null,
        new_value: textOf(row, field),
        seen_at: toTimestamp(requestedAt),
        old_read_at: previous.synced_at ?? '',
      })
  }
  const visitors = new Set(textsOf(withNewMessages, 'visitor_id'))
  await addPendingChildren(trx, 'messages', textsOf(withNewMessages, 'id'), requestedAt)
  await markChildrenPending(trx, 'visitor_activity', [...visitors], requestedAt)
  // At most 800 parameters per statement.
  for (const batch of batchesOf(changes, 100))
    await trx.db.insertInto('conversation_changes').values(batch).execute()
  await addToIdSet(trx, recheckSet, toRecheck)
}
