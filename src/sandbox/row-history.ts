/** The earlier versions of the rows of one kind, for reads that show them late or stale. */
import type { EpochMs } from '../core/time.ts'
import type { Row } from './model.ts'

/** How many earlier versions of a row are kept. */
const maxVersions = 20

/** `seedSince`: when a seed row got its present state; undefined for other rows. */
export function createRowHistory<T extends Row>(
  seedSince: (index: number) => EpochMs | undefined,
  clock: () => EpochMs,
) {
  /** The earlier versions of each row, oldest first, with the end of each. */
  const formerRows = new Map<number, { readonly row: T | undefined; readonly until: EpochMs }[]>()
  return {
    /** Keeps what a row was until now; undefined = it did not exist yet. */
    add(index: number, row: T | undefined) {
      formerRows.set(index, [...(formerRows.get(index) ?? []), { row, until: clock() }].slice(-maxVersions))
    },
    /** The row before its last change, if that is less than `withinMs` ago; else the current one. */
    staleCopy(row: T, withinMs: number): T {
      const was = formerRows.get(row.index)?.at(-1)
      return was?.row !== undefined && clock() - was.until < withinMs ? was.row : row
    },
    /** The row as it was `agoMs` ago; undefined if it did not exist then. */
    asOf(row: T, agoMs: number): T | undefined {
      if (agoMs === 0) return row
      const at = clock() - agoMs
      const was = formerRows.get(row.index)?.find(({ until }) => until > at)
      const existed = (seedSince(row.index) ?? at) <= at
      return existed ? (was === undefined ? row : was.row) : undefined
    },
  }
}
