/** Finds the rows that the database cannot store, so that all others are stored. */
import { sql } from 'kysely'
import type { RejectedRow } from '../../core/row.ts'
import type { Db } from '../database/connection-pool.ts'
import type { EncodedRow } from './encode-value.ts'
import type { InsertPlan } from './insert-plan.ts'

export type IsolationResult = { readonly changed: number; readonly rejectedRows: readonly RejectedRow[] }

/** Stores all rows except those that the database rejects: halves a rejected batch until single rows are left. */
export async function isolateBadRows(
  trx: Db,
  plan: InsertPlan,
  rows: readonly EncodedRow[],
  upsertRows: (rows: readonly EncodedRow[]) => Promise<number>,
): Promise<IsolationResult> {
  if (rows.length === 0) return { changed: 0, rejectedRows: [] }
  await sql`savepoint isolating`.execute(trx)
  try {
    const changed = await upsertRows(rows)
    await sql`release savepoint isolating`.execute(trx)
    return { changed, rejectedRows: [] }
  } catch (error) {
    const why = valueErrorReason(error)
    if (why === null) throw error
    await sql`rollback to savepoint isolating`.execute(trx)
    await sql`release savepoint isolating`.execute(trx)
    if (rows.length === 1) return { changed: 0, rejectedRows: [{ id: rowId(plan, rows[0] ?? []), why }] }
  }
  const half = rows.length >> 1
  const [first, last] = [
    await isolateBadRows(trx, plan, rows.slice(0, half), upsertRows),
    await isolateBadRows(trx, plan, rows.slice(half), upsertRows),
  ]
  return { changed: first.changed + last.changed, rejectedRows: [...first.rejectedRows, ...last.rejectedRows] }
}

/** The id of a row within its parent: the last part of its key, but the hash for an activity entry. */
function rowId(plan: InsertPlan, row: EncodedRow): string | null {
  const value = row[plan.shape.table === 'visitor_activity' ? (plan.keyIndexes[1] ?? 0) : (plan.keyIndexes.at(-1) ?? 0)]
  return value === null || value === undefined ? null : String(value)
}

/**
 * Codes that reject a value, as opposed to a statement, a lock, a disk or a connection. Postgres's classes: 22 data
 * exception, 23 integrity constraint, 54 program limit exceeded; XX000 is its code for an allocation that is too large.
 * Source: its documentation, "PostgreSQL Error Codes". SQLite: its result codes.
 */
const valueErrorCodes = /^(?:22...|23...|54...|XX000|SQLITE_(?:TOOBIG|MISMATCH|CONSTRAINT\w{0,30}))$/

/** Why the database rejected a value, for people and without the value; null: another kind of error. */
export function valueErrorReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // A string or buffer longer than the runtime allows.
  if (error instanceof RangeError) return 'it is too large'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return valueErrorCodes.test(code) ? `the database cannot hold it (${code})` : null
}
