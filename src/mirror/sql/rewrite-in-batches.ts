/**
 * Rewrites what an older version stored, in batches: a process that is killed loses the work of one. `sync_rewrites` has a
 * row for each rewrite that is not complete, with the position that it has reached.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import { acquireWriteLock } from '../../warehouse/transactions.ts'

const rowsPerBatch = 1000

/** In Postgres every rewritten row leaves its old copy, whose space can only be used again after a vacuum. */
const rowsPerVacuum = 100_000

export type Rewrite<Position, Row extends { readonly project: unknown }> = {
  /** As the migration named it in `sync_rewrites`. */
  readonly name: string
  readonly table: string
  readonly start: Position
  /** The rows that are left, in the order of their key. */
  readonly rowsAfter: (kind: DatabaseKind, position: Position) => RawBuilder<Row>
  /** Returns the position after these rows. */
  readonly rewriteRows: (trx: Db, kind: DatabaseKind, rows: readonly Row[], position: Position) => Promise<Position>
}

/** `onProgress`: how many rows have been looked at, and how many are left, as they were counted at the beginning. */
export type RewriteOptions = {
  readonly isOver?: () => boolean
  readonly onProgress?: (rows: number, left: number) => void
}

/** Returns how many rows were looked at, and whether all are done. Continues where an earlier process ended. */
export async function rewriteInBatches<Position, Row extends { readonly project: unknown }>(
  db: Db,
  kind: DatabaseKind,
  rewrite: Rewrite<Position, Row>,
  { isOver, onProgress }: RewriteOptions = {},
) {
  const { name, table, start, rowsAfter } = rewrite
  let [rows, total] = [0, 0]
  let position = await readPosition(db, name, start)
  if (onProgress !== undefined && position !== null) {
    const { rows: counted } = await sql<{ count: number }>`
      select count(*) as count from (${rowsAfter(kind, position)}) as remaining`.execute(db)
    total = Number(counted[0]?.count ?? 0)
  }
  while (position !== null) {
    rows += await db.transaction().execute((trx) => rewriteBatch(trx, kind, rewrite))
    onProgress?.(rows, Math.max(0, total - rows))
    if (kind === 'postgres' && rows > 0 && rows % rowsPerVacuum === 0) await sql`vacuum ${sql.table(table)}`.execute(db)
    position = await readPosition(db, name, start)
    if (isOver?.() === true) break
  }
  return { rows, isComplete: position === null }
}

/** Null: the rewrite is complete. */
export async function readPosition<Position>(db: Db, name: string, start: Position): Promise<Position | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_rewrites where name = ${name}`.execute(db)
  const [stored] = rows
  if (stored === undefined) return null
  return stored.position === '' ? start : JSON.parse(stored.position)
}

/** Returns the number of rows of the batch. */
async function rewriteBatch<Position, Row extends { readonly project: unknown }>(
  trx: Db,
  kind: DatabaseKind,
  { name, start, rowsAfter, rewriteRows }: Rewrite<Position, Row>,
): Promise<number> {
  await acquireLock(trx, kind, 'deskmirror.rewrite')
  const position = await readPosition(trx, name, start)
  if (position === null) return 0
  const readRows = async () => (await sql<Row>`${rowsAfter(kind, position)} limit ${rowsPerBatch}`.execute(trx)).rows
  if (kind === 'postgres') {
    await useKeyOnly(trx)
    // Nobody else writes rows of these projects until the end of the transaction.
    const projects = new Set((await readRows()).map((row) => String(row.project)))
    for (const project of projects) await acquireWriteLock(trx, 'postgres', project)
  }
  const rows = await readRows()
  const next = JSON.stringify(await rewriteRows(trx, kind, rows, position))
  await (rows.length < rowsPerBatch
    ? sql`delete from sync_rewrites where name = ${name}`
    : sql`update sync_rewrites set position = ${next} where name = ${name}`
  ).execute(trx)
  return rows.length
}

/**
 * Where its statistics are behind, Postgres would read and sort the whole table for each batch, or compile the query, as it
 * overestimates what a batch costs.
 */
async function useKeyOnly(trx: Db): Promise<void> {
  const methods = ['seqscan', 'bitmapscan', 'sort', 'incremental_sort', 'hashjoin', 'mergejoin']
  for (const setting of [...methods.map((method) => `enable_${method}`), 'jit'])
    await sql`set local ${sql.raw(setting)} = off`.execute(trx)
}
