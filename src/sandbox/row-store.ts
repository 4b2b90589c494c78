/** All rows of one kind: the seed rows, created on demand, under the later changes; and their earlier versions. */
import type { EpochMs } from '../values/time.ts'
import type { Sequence, TimedRow } from './model.ts'
import type { RowIds } from './seed-context.ts'

export type RowStore<T extends TimedRow<Field>, Field extends string> = ReturnType<typeof createRowStore<T, Field>>

export type SeedRows<T, Field> = {
  readonly count: number
  readonly ids: RowIds
  readonly seedRow: (index: number) => T
  /** A time of a seed row, without creating the row. */
  readonly timeOf: (field: Field, index: number) => EpochMs
}

/** How many earlier versions of a row are kept. */
const maxVersions = 20

/** `changedAt`: the time at which a seed row got its present state. Only rows that differ from their seed are in memory. */
export function createRowStore<T extends TimedRow<Field>, Field extends string>(
  { count, ids, seedRow, timeOf: seedTimeOf }: SeedRows<T, Field>,
  changedAt: Field,
  clock: () => EpochMs,
) {
  const changed = new Map<number, T>()
  const removed = new Set<number>()
  /** The earlier versions of each row, oldest first, with the end of each; undefined = it did not exist yet. */
  const formerRows = new Map<number, { readonly row: T | undefined; readonly until: EpochMs }[]>()
  /** The rows in order of each of their times. An order is created on its first use: most are never asked for. */
  const orders = new Map<Field, TimeOrder>()
  let next = count
  function* indexes() {
    for (let index = 0; index < next; index += 1) if (!removed.has(index)) yield index
  }
  const at = (index: number) =>
    index >= next || removed.has(index) ? undefined : (changed.get(index) ?? seedRow(index))
  const requireRow = (index: number) => {
    const row = at(index)
    if (row === undefined) throw new Error(`there is no row ${index}`)
    return row
  }
  const orderBy = (field: Field) => {
    const timeOf = (index: number) => changed.get(index)?.[field] ?? seedTimeOf(field, index)
    const order = orders.get(field) ?? createTimeOrder(indexes(), next, timeOf)
    orders.set(field, order)
    return order
  }
  const replaceInOrders = (before: T | undefined, after: T | undefined) => {
    for (const [field, order] of orders) {
      if (before?.[field] === after?.[field]) continue
      if (before !== undefined) order.remove(before[field], before.index)
      if (after !== undefined) order.insert(after[field], after.index)
    }
  }
  const replace = (before: T | undefined, after: T) => {
    const versions = [...(formerRows.get(after.index) ?? []), { row: before, until: clock() }]
    formerRows.set(after.index, versions.slice(-maxVersions))
    next = Math.max(next, after.index + 1)
    changed.set(after.index, after)
    replaceInOrders(before, after)
  }
  return {
    at,
    /** The index of the next new row. */
    nextIndex: () => next,
    find(id: string) {
      const index = ids.indexOf(id)
      return index === undefined ? undefined : at(index)
    },
    /** A pseudo-random row, the same for the same number; undefined if there is none. */
    pickNear(draw: number): T | undefined {
      for (let step = 0; step < next; step += 1) {
        const row = at((draw + step) % next)
        if (row !== undefined) return row
      }
      return undefined
    },
    /** Existing rows, in order of their indexes. */
    *all() {
      for (const index of indexes()) yield requireRow(index)
    },
    orderedBy(field: Field): Sequence<T> {
      const order = orderBy(field)
      return { length: order.size(), timeAt: order.timeAt, rowAt: (p: number) => requireRow(order.indexAt(p)) }
    },
    add: (row: T) => replace(undefined, row),
    change(index: number, patch: Partial<T>) {
      const before = requireRow(index)
      replace(before, { ...before, ...patch })
    },
    remove(index: number) {
      replaceInOrders(requireRow(index), undefined)
      removed.add(index)
      changed.delete(index)
    },
    /** The row before its last change, if that is less than `withinMs` ago; else the current one. */
    staleCopy(row: T, withinMs: number): T {
      const was = formerRows.get(row.index)?.at(-1)
      return was?.row !== undefined && clock() - was.until < withinMs ? was.row : row
    },
    /** The row as it was `agoMs` ago; undefined if it did not exist then. */
    asOf(row: T, agoMs: number): T | undefined {
      if (agoMs === 0) return row
      const then = clock() - agoMs
      if (row.index < count && seedTimeOf(changedAt, row.index) > then) return undefined
      const was = formerRows.get(row.index)?.find(({ until }) => until > then)
      return was === undefined ? row : was.row
    },
  }
}

type TimeOrder = ReturnType<typeof createTimeOrder>

/**
 * The indexes in order of their rows' times, equal ones in order of the indexes, in flat arrays: a million rows take 12 MB,
 * an insert under a millisecond. All indexes are below `count`.
 */
function createTimeOrder(indexes: Iterable<number>, count: number, timeOf: (index: number) => EpochMs) {
  let rows = Uint32Array.from(indexes)
  const timeByIndex = new Float64Array(count)
  for (const index of rows) timeByIndex[index] = timeOf(index)
  const time = (index: number | undefined) => timeByIndex[index ?? 0] ?? 0
  if (!rows.every((index, p) => p === 0 || time(rows[p - 1]) <= time(index)))
    rows.sort((a, b) => time(a) - time(b) || a - b)
  let times = Float64Array.from(rows, time)
  let size = rows.length
  const positionOf = (at: EpochMs, index: number) =>
    findFirstPosition(size, (p) => {
      const found = times[p] ?? 0
      return found > at || (found === at && (rows[p] ?? 0) >= index)
    })
  return {
    size: () => size,
    timeAt: (p: number): EpochMs => times[p] ?? 0,
    indexAt: (p: number) => rows[p] ?? 0,
    insert(at: EpochMs, index: number) {
      if (size === rows.length) {
        const capacity = Math.max(16, Math.ceil(size * 1.1))
        const [moreRows, moreTimes] = [new Uint32Array(capacity), new Float64Array(capacity)]
        moreRows.set(rows)
        moreTimes.set(times)
        ;[rows, times] = [moreRows, moreTimes]
      }
      const p = positionOf(at, index)
      rows.copyWithin(p + 1, p, size)
      times.copyWithin(p + 1, p, size)
      rows[p] = index
      times[p] = at
      size += 1
    },
    remove(at: EpochMs, index: number) {
      const p = positionOf(at, index)
      if (rows[p] !== index) throw new Error(`row ${index} is not at the position of its time`)
      rows.copyWithin(p, p + 1, size)
      times.copyWithin(p, p + 1, size)
      size -= 1
    },
  }
}

/** The first position below `size` for which `isMatch` is true; it must be true for all later ones. `size` if there is none. */
export function findFirstPosition(size: number, isMatch: (position: number) => boolean): number {
  let [low, high] = [0, size]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isMatch(middle)) high = middle
    else low = middle + 1
  }
  return low
}
