/** Rows that the service no longer has: they stay, with `deleted_at`. Storing a row again clears it. */
import { sql } from 'kysely'
import type { ChildStreamName } from '../../core/mirror.ts'
import { toTimestamp } from '../../core/time.ts'
import { removePendingChildren } from './pending-children.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'

const childStreamOf = {
  conversations: { stream: 'messages', parent: 'conversation_id' },
  visitors: { stream: 'visitor_activity', parent: 'visitor_id' },
  calls: { stream: 'call_recordings', parent: 'call_id' },
} as const satisfies Record<string, { stream: ChildStreamName; parent: string }>

/** `at`: when the service was asked, in milliseconds. A copy that was requested earlier does not restore the row. */
export async function markDeleted(
  context: ProjectContext,
  stream: keyof typeof childStreamOf,
  id: string,
  at: number,
): Promise<void> {
  const { stream: child, parent } = childStreamOf[stream]
  const since = toTimestamp(at)
  await inTransaction(context, async (trx) => {
    for (const [table, key] of [
      [stream, 'id'],
      [child, parent],
    ] as const) {
      await sql`
        update ${sql.table(table)} set deleted_at = ${since}, asked_at = ${at}
        where project_id = ${context.project} and ${sql.ref(key)} = ${id} and deleted_at is null`.execute(trx)
    }
    await removePendingChildren(context, trx, child, id)
  })
}
