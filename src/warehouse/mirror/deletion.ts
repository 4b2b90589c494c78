/** Rows that the service no longer has: they stay, with `deleted_at`. Storing a row again clears it. */
import { sql } from 'kysely'
import { childStreamsOf, type ListStreamName, streamSpecs } from '../../core/stream-specs.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import { markFactsOfDeletedRow } from '../analytics/pending-facts.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { removePendingChildren } from './pending-children.ts'
import { keyColumns, storedTable } from './stream-tables.ts'

/** `at`: when the service was asked, in milliseconds. A copy that was requested earlier does not restore the row. */
export async function markDeleted(trx: ProjectDb, stream: ListStreamName, id: string, at: EpochMs): Promise<void> {
  const children = childStreamsOf(stream)
  for (const affected of [stream, ...children]) {
    await sql`
      update ${sql.table(storedTable(streamSpecs[affected].table))} set deleted_at = ${toTimestamp(at)}, asked_at = ${at}
      where project_id = ${trx.project} and ${sql.ref(keyColumns(affected)[0] ?? 'id')} = ${id}
        and deleted_at is null`.execute(trx.db)
  }
  for (const child of children) await removePendingChildren(trx, child, id)
  await markFactsOfDeletedRow(trx, stream, id)
}
