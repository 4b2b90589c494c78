/**
 * Rewrites what an older version stored, in batches: a process that is killed loses the work of one. `sync_rewrites` has a
 * row for each rewrite that is not complete, with the position that it has reached.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import { acquireWriteLock } from './project-context.ts'

export const rowsPerBatch = 1000

/** In Postgres every rewritten row leaves its old copy, whose space can only be used again after a vacuum. */
const rowsPerVacuum = 100_000

type ProjectRow = { readonly project: unknown }

export type Rewrite<Position, Row extends ProjectRow> = {
  /** As the migration named it in `sync_rewrites`. */
  readonly name: string
  readonly table: string
  readonly start: Position
  /** The condition of the rows that are left. */
  readonly isLeft: (kind: DatabaseKind, position: Position) => RawBuilder<unknown>
  /** The next rows in the order of their key, at most `rowsPerBatch`. */
  readonly readRows: (trx: Db, kind: DatabaseKind, position: Position) => Promise<readonly Row[]>
  /** Returns the position after these rows. */
  readonly rewriteRows: (trx: Db, kind: DatabaseKind, rows: readonly Row[], position: Position) => Promise<Position>
}

/** `onProgress`: how many rows have been looked at, and how many are left, as they were counted at the beginning. */
export type RewriteOptions = {
  readonly isOver?: () => boolean
  readonly onProgress?: (rows: number, left: number) => void
}

/** Returns how many rows were looked at, and whether all are done. Continues where an earlier process ended. */
export async function rewriteInBatches<Position, Row extends ProjectRow>(
  db: Db,
  kind: DatabaseKind,
  rewrite: Rewrite<Position, Row>,
  { isOver, onProgress }: RewriteOptions = {},
) {
  const total = onProgress === undefined ? 0 : await countRowsLeft(db, kind, rewrite)
  let rows = 0
  while (await isRewriteLeft(db, rewrite.name)) {
    rows += await db.transaction().execute((trx) => rewriteBatch(trx, kind, rewrite))
    onProgress?.(rows, Math.max(0, total - rows))
    if (kind === 'postgres' && rows > 0 && rows % rowsPerVacuum === 0)
      await sql`vacuum ${sql.table(rewrite.table)}`.execute(db)
    if (isOver?.() === true) break
  }
  return { rows, isComplete: !(await isRewriteLeft(db, rewrite.name)) }
}

export async function isRewriteLeft(db: Db, name: string): Promise<boolean> {
  return (await readPosition(db, name)) !== null
}

/** Returns the number of rows of the batch. */
async function rewriteBatch<Position, Row extends ProjectRow>(
  trx: Db,
  kind: DatabaseKind,
  { name, start, readRows, rewriteRows }: Rewrite<Position, Row>,
): Promise<number> {
  await acquireLock(trx, kind, 'deskmirror.rewrite')
  const stored = await readPosition(trx, name)
  if (stored === null) return 0
  const position: Position = stored === '' ? start : JSON.parse(stored)
  if (kind === 'postgres') {
    await useKeyOnly(trx)
    await lockProjects(trx, await readRows(trx, kind, position))
  }
  const rows = await readRows(trx, kind, position)
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

/** Nobody else writes rows of these projects until the end of the transaction. */
async function lockProjects(trx: Db, rows: readonly ProjectRow[]): Promise<void> {
  for (const project of new Set(rows.map((row) => String(row.project))))
    await acquireWriteLock(trx, 'postgres', project)
}

/** JSON, or empty before the first batch; null = the rewrite is complete. */
async function readPosition(db: Db, name: string): Promise<string | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_rewrites where name = ${name}`.execute(db)
  return rows[0]?.position ?? null
}

async function countRowsLeft<Position, Row extends ProjectRow>(
  db: Db,
  kind: DatabaseKind,
  { name, table, start, isLeft }: Rewrite<Position, Row>,
): Promise<number> {
  const stored = await readPosition(db, name)
  if (stored === null) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)}
    where ${isLeft(kind, stored === '' ? start : JSON.parse(stored))}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
