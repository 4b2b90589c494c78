/** How much a batch of rows should hold that is read from a large table. */
import type { ValueList } from './connection-pool.ts'

/** In characters. */
export const targetSize = 1_000_000
export const maxRows = 1000

export function rowSize(row: ValueList): number {
  return row.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 8), 0)
}
