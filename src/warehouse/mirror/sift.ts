/** Rows that a database cannot hold, found one by one, so that they hold up none of the others. */
import { sql } from 'kysely'
import type { Refused } from '../../core/row.ts'
import { isAboutValues } from '../database/refusal.ts'
import type { Db } from '../database/session.ts'
import type { Bound } from './cell.ts'
import type { Plan } from './plan.ts'

export type Sifted = { readonly changed: number; readonly refused: readonly Refused[] }

/** Stores all rows but those that the database refuses: halves what it refused until a single row is left. */
export async function sift(
  trx: Db,
  plan: Plan,
  rows: Bound[][],
  store: (rows: Bound[][]) => Promise<number>,
): Promise<Sifted> {
  if (rows.length === 0) return { changed: 0, refused: [] }
  await sql`savepoint sifting`.execute(trx)
  try {
    const changed = await store(rows)
    await sql`release savepoint sifting`.execute(trx)
    return { changed, refused: [] }
  } catch (error) {
    const why = isAboutValues(error)
    if (why === null) throw error
    await sql`rollback to savepoint sifting`.execute(trx)
    await sql`release savepoint sifting`.execute(trx)
    if (rows.length === 1) return { changed: 0, refused: [{ id: idOf(plan, rows[0] ?? []), why }] }
  }
  const half = rows.length >> 1
  const [first, last] = [
    await sift(trx, plan, rows.slice(0, half), store),
    await sift(trx, plan, rows.slice(half), store),
  ]
  return { changed: first.changed + last.changed, refused: [...first.refused, ...last.refused] }
}

/** The last part of a row's key: what is before it is its parent. */
export function idOf(plan: Plan, row: readonly Bound[]): string | null {
  const value = row[plan.shape.table === 'visitor_activity' ? (plan.key[1] ?? 0) : (plan.key.at(-1) ?? 0)]
  return value === null || value === undefined ? null : String(value)
}
