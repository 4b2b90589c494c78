/** Names the rows of a selection as they are, so that an approval can name exactly what was shown. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { SelectionDigest } from '../../core/outbox/batches.ts'
import { forUpdate } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { filterSql } from './filter.ts'

const rowsPerRead = 2000

/** SHA-256 over a line for each row, in the order of the queue. `lock`: the rows stay as they are until the end of the transaction. */
export async function computeDigest(
  { db, kind, project }: ProjectDb,
  filter: OutboxFilter,
  { lock }: { readonly lock: boolean },
): Promise<SelectionDigest> {
  const hash = createHash('sha256')
  let [count, after] = [0, 0]
  for (;;) {
    const { rows } = await sql<{ id: string; epoch: number; status: string; seq: number }>`
      select id, epoch, status, seq from writebacks
      where project_id = ${project} and seq > ${after} and ${filterSql(kind, filter)}
      order by seq limit ${sql.lit(rowsPerRead)} ${lock ? forUpdate(kind) : sql``}`.execute(db)
    for (const { id, epoch, status } of rows) hash.update(`${id} ${epoch} ${status}\n`)
    count += rows.length
    after = rows.at(-1)?.seq ?? after
    if (rows.length < rowsPerRead) return { digest: hash.digest('hex'), count }
  }
}
