/** Reads the rows of a selection and names them as they are, so that an approval can name exactly what was shown. */
import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { NamedSelection } from '../../core/outbox/batches.ts'
import type { OutboxEntry } from '../../core/outbox/outbox-entry.ts'
import { forUpdate } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { type EntryRow, selectEntryRows, toEntry } from './entries.ts'

const rowsPerRead = 2000

/** The first `limit` rows, and a digest of all rows of the filter, from the same reads. */
export async function readSelection(context: ProjectDb, filter: OutboxFilter, limit: number): Promise<NamedSelection> {
  const entries: OutboxEntry[] = []
  const named = await digestRows(context, filter, sql``, (row) => {
    if (entries.length < limit) entries.push(toEntry(context.kind, row))
  })
  return { entries, named }
}

/**
 * The rows stay as they are until the end of the transaction. Others may be inserted meanwhile: only `ids` are named, in the
 * order of the queue.
 */
export async function lockSelection(trx: ProjectDb, filter: OutboxFilter) {
  const ids: string[] = []
  return { ...(await digestRows(trx, filter, forUpdate(trx.kind), ({ id }) => ids.push(id))), ids }
}

/** SHA-256 over a line for each row, in the order of the queue. */
async function digestRows(
  context: ProjectDb,
  filter: OutboxFilter,
  lock: RawBuilder<unknown>,
  onRow: (row: EntryRow) => void,
): Promise<NamedSelection['named']> {
  const hash = createHash('sha256')
  let [count, after] = [0, 0]
  for (;;) {
    const order = sql`order by seq limit ${sql.lit(rowsPerRead)} ${lock}`
    const rows = await selectEntryRows(context, filter, sql`seq > ${after}`, order)
    for (const row of rows) {
      hash.update(`${JSON.stringify(whatLeaves(row))}\n`)
      onRow(row)
    }
    count += rows.length
    after = rows.at(-1)?.seq ?? after
    if (rows.length < rowsPerRead) return { digest: hash.digest('hex'), count }
  }
}

/** What decides whether a row leaves, when, to whom and in which words. The epoch grows with each decision and correction. */
function whatLeaves(row: EntryRow): readonly unknown[] {
  const { id, seq, epoch, status, stoppedBy, batchId, createdBy } = row
  const { operation, conversationId, visitorId, payload, expect, expiresAt, seen } = row
  return [
    ...[id, seq, epoch, status, stoppedBy, batchId, createdBy],
    ...[operation, conversationId, visitorId, payload, expect, expiresAt, seen],
  ]
}
