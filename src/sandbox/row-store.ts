/** All rows of one kind: seed rows, created on demand, under later changes; earlier versions. */
import type { EpochMs } from '../values/time.ts'
import type { Sequence, TimedRow } from './model.ts'
import type { createRowIds } from './seed-context.ts'

export type SeedRows<T, Field> = {
  readonly count: number
  readonly ids: ReturnType<typeof createRowIds>
  readonly seedRow: (index: number) => T
  /** A time of a seed row, without creating the row. */
  readonly timeOf: (field: Field, index: number) => EpochMs
}

const maxVersions = 20

/** `changedAt`: of a seed row. Only rows that differ from their seed are in memory. */
export function createRowStore<T extends TimedRow<Field>, Field extends string>(
  { count, ids, seedRow, timeOf }: SeedRows<T, Field>,
  changedAt: NoInfer<Field>,
  clock: () => EpochMs,
) {
  const changed = new Map<number, T>()
  const removed = new Set<number>()
  /** Oldest first, with the end of each; undefined = it did not exist yet. */
  const formerRows = new Map<number, { readonly row: T | undefined; readonly until: EpochMs }[]>()
  /** By time, created on first use: most are never asked for. */
  const orders = new Map<Field, ReturnType<typeof createTimeOrder>>()
  let next = count
  const indexes = () =>
    Array.from({ length: next }, (_, index) => index).filter((index) => !removed.has(index))
  const at = (index: number) =>
    index >= next || removed.has(index) ? undefined : (changed.get(index) ?? seedRow(index))
  const requireRow = (index: number) => {
    const row = at(index)
    if (row === undefined) throw new Error(`there is no row ${index}`)
    return row
  }
  const replaceInOrders = (before: T | undefined, after: T | undefined) => {
    for (const [field, order] of orders) {
      if (before?.[field] === after?.[field]) continue
      if (before !== undefined) order.remove(before.index)
      if (after !== undefined) order.insert(after.index, after[field])
    }
  }
  const replace = (before: T | undefined, after: T): T => {
    const versions = [...(formerRows.get(after.index) ?? []), { row: before, until: clock() }]
    formerRows.set(after.index, versions.slice(-maxVersions))
    next = Math.max(next, after.index + 1)
    changed.set(after.index, after)
    replaceInOrders(before, after)
    return after
  }
  const find = (id: string) => {
    const index = ids.indexOf(id)
    return index === undefined ? undefined : at(index)
  }
  /** Throws RangeError if there is none. */
  const get = (id: string): T => {
    const row = find(id)
    if (row === undefined) throw new RangeError(`there is no row ${id}`)
    return row
  }
  return {
    at,
    find,
    get,
    /** A pseudo-random row, the same for the same number; undefined if there is none. */
    pickNear(draw: number): T | undefined {
      for (let step = 0; step < next; step += 1) {
        const row = at((draw + step) % next)
        if (row !== undefined) return row
      }
      return undefined
    },
    /** Existing rows, in order of their indexes. */
    all: () => indexes().values().map(requireRow),
    orderedBy(field: Field): Sequence<T> {
      const create = () =>
        createTimeOrder(indexes(), (index) => changed.get(index)?.[field] ?? timeOf(field, index))
      const order = orders.get(field) ?? create()
      orders.set(field, order)
      const { rows } = order
      return {
        length: rows.length,
        timeAt: (p) => rows[p]?.at ?? 0,
        rowAt: (p) => requireRow(rows[p]?.index ?? next),
      }
    },
    /** Under the next id. */
    add: (row: Omit<T, 'index' | 'id'>) =>
      replace(undefined, { ...row, index: next, id: ids.idAt(next) } as T),
    /** Throws RangeError if there is none. */
    change(id: string, patch: Partial<T>): T {
      const before = get(id)
      return replace(before, { ...before, ...patch })
    },
    remove(id: string) {
      const row = get(id)
      replaceInOrders(row, undefined)
      removed.add(row.index)
      changed.delete(row.index)
    },
    /** The row before its last change, if that is less than `withinMs` ago. */
    staleCopy(row: T, withinMs: number): T {
      const was = formerRows.get(row.index)?.at(-1)
      return was?.row !== undefined && clock() - was.until < withinMs ? was.row : row
    },
    /** The row as it was `agoMs` ago; undefined if it did not exist then. */
    asOf(row: T, agoMs: number): T | undefined {
      if (agoMs === 0) return row
      const then = clock() - agoMs
      if (row.index < count && timeOf(changedAt, row.index) > then) return undefined
      const was = formerRows.get(row.index)?.find(({ until }) => until > then)
      return was === undefined ? row : was.row
    },
  }
}

/** The rows in order of one of their times, equal ones in order of their indexes. */
function createTimeOrder(indexes: readonly number[], timeOf: (index: number) => EpochMs) {
  type Position = { readonly index: number; readonly at: EpochMs }
  const compare = (a: Position, b: Position) => a.at - b.at || a.index - b.index
  const rows = indexes.map((index) => ({ index, at: timeOf(index) })).sort(compare)
  return {
    rows,
    insert(index: number, at: EpochMs) {
      const later = findFirstPosition(
        rows.length,
        (p) => compare(rows[p] ?? { index, at }, { index, at }) > 0,
      )
      rows.splice(later, 0, { index, at })
    },
    remove(index: number) {
      const at = rows.findIndex((row) => row.index === index)
      rows.splice(at, 1)
    },
  }
}

/** Below `size`, which is returned if there is none; `isMatch` must be true for all later ones. */
export function findFirstPosition(size: number, isMatch: (position: number) => boolean): number {
  let low = 0
  let high = size
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isMatch(middle)) high = middle
    else low = middle + 1
  }
  return low
}
