/** Rows that the service no longer has: they stay, with `deleted_at`. Storing a row again clears it. */
import { sql } from 'kysely'
import { childStreamsOf, type ListStreamName, streamSpecs } from '../../core/stream-specs.ts'
import { toTimestamp } from '../../core/time.ts'
import { markFactsOfDeletedRow } from '../analytics/pending-facts.ts'
import { removePendingChildren } from './pending-children.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'
import { keyColumns } from './stream-tables.ts'

/** `at`: when the service was asked, in milliseconds. A copy that was requested earlier does not restore the row. */
export async function markDeleted(
  context: ProjectContext,
  stream: ListStreamName,
  id: string,
  at: number,
): Promise<void> {
  const children = childStreamsOf(stream)
  const since = toTimestamp(at)
  await inTransaction(context, async (trx) => {
    for (const affected of [stream, ...children]) {
      await sql`
        update ${sql.table(streamSpecs[affected].table)} set deleted_at = ${since}, asked_at = ${at}
        where project_id = ${context.project} and ${sql.ref(keyColumns(affected)[0] ?? 'id')} = ${id}
          and deleted_at is null`.execute(trx)
    }
    for (const child of children) await removePendingChildren(context, trx, child, id)
    await markFactsOfDeletedRow(context, trx, stream, id)
  })
}
