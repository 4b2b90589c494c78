/** Rows that a database cannot hold, found one by one, so that they hold up none of the others. */
import { sql } from 'kysely'
import type { RefusedRow } from '../../core/row.ts'
import type { Db } from '../database/connection-pool.ts'
import type { SqlValue } from './encode-value.ts'
import type { InsertPlan } from './insert-plan.ts'

export type IsolationResult = { readonly changed: number; readonly refused: readonly RefusedRow[] }

/** Stores all rows but those that the database refuses: halves what it refused until a single row is left. */
export async function isolateBadRows(
  trx: Db,
  plan: InsertPlan,
  rows: SqlValue[][],
  store: (rows: SqlValue[][]) => Promise<number>,
): Promise<IsolationResult> {
  if (rows.length === 0) return { changed: 0, refused: [] }
  await sql`savepoint sifting`.execute(trx)
  try {
    const changed = await store(rows)
    await sql`release savepoint sifting`.execute(trx)
    return { changed, refused: [] }
  } catch (error) {
    const why = valueErrorReason(error)
    if (why === null) throw error
    await sql`rollback to savepoint sifting`.execute(trx)
    await sql`release savepoint sifting`.execute(trx)
    if (rows.length === 1) return { changed: 0, refused: [{ id: rowId(plan, rows[0] ?? []), why }] }
  }
  const half = rows.length >> 1
  const [first, last] = [
    await isolateBadRows(trx, plan, rows.slice(0, half), store),
    await isolateBadRows(trx, plan, rows.slice(half), store),
  ]
  return { changed: first.changed + last.changed, refused: [...first.refused, ...last.refused] }
}

/** The last part of a row's key: what is before it is its parent. */
export function rowId(plan: InsertPlan, row: readonly SqlValue[]): string | null {
  const value = row[plan.shape.table === 'visitor_activity' ? (plan.keyIndexes[1] ?? 0) : (plan.keyIndexes.at(-1) ?? 0)]
  return value === null || value === undefined ? null : String(value)
}

/**
 * Postgres's classes: 22 data exception, 23 integrity constraint, 54 program limit exceeded; XX000 is what it says of an
 * allocation that is too large. Source: its documentation, "PostgreSQL Error Codes". SQLite's result codes likewise.
 */
const valueErrorCodes = /^(?:22...|23...|54...|XX000|SQLITE_(?:TOOBIG|MISMATCH|CONSTRAINT\w{0,30}))$/

/** Why, for a person, without the values; null: it is about something else. */
export function valueErrorReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // A string or a buffer that is longer than the runtime can make.
  if (error instanceof RangeError) return 'it is too large'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return valueErrorCodes.test(code) ? `the database cannot hold it (${code})` : null
}
