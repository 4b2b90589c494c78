/** All rows of one kind: the seed rows, created on demand, under the later changes. */
import type { EpochMs } from '../core/time.ts'
import type { Row, Sequence, TimedRow } from './model.ts'
import { createRowHistory } from './row-history.ts'
import type { RowIds } from './seed/row-ids.ts'
import { createTimeOrder, type TimeOrder } from './time-order.ts'

export type RowStore<T extends TimedRow<Field>, Field extends string> = ReturnType<typeof createRowStore<T, Field>>

export type SeedRows<T, Field> = {
  readonly count: number
  readonly ids: RowIds
  readonly seedRow: (index: number) => T
  /** A time of a seed row, without creating the row. */
  readonly timeOf: (field: Field, index: number) => EpochMs
}

/** `changedAt`: the time at which a seed row got its present state. */
export function createRowStore<T extends TimedRow<Field>, Field extends string>(
  seed: SeedRows<T, Field>,
  changedAt: Field,
  clock: () => EpochMs,
) {
  const { indexes, changedRow, requireRow, put, drop, ...reads } = createCurrentRows(seed)
  const seedSince = (index: number) => (index < seed.count ? seed.timeOf(changedAt, index) : undefined)
  const { add: addHistory, staleCopy, asOf } = createRowHistory<T>(seedSince, clock)
  const orders = createTimeOrders<T, Field>((field) => {
    const timeOf = (index: number) => changedRow(index)?.[field] ?? seed.timeOf(field, index)
    return createTimeOrder(indexes(), reads.nextIndex(), timeOf)
  })
  const replace = (before: T | undefined, after: T) => {
    addHistory(after.index, before)
    put(after)
    orders.replace(before, after)
  }
  return {
    ...reads,
    staleCopy,
    asOf,
    add: (row: T) => replace(undefined, row),
    change(index: number, patch: Partial<T>) {
      const before = requireRow(index)
      replace(before, { ...before, ...patch })
    },
    remove(index: number) {
      orders.replace(requireRow(index), undefined)
      drop(index)
    },
    orderedBy(field: Field): Sequence<T> {
      const order = orders.by(field)
      return { length: order.size(), timeAt: order.timeAt, rowAt: (p: number) => requireRow(order.indexAt(p)) }
    },
  }
}

/** The rows as they are now. Only those that differ from their seed are held in memory. */
function createCurrentRows<T extends Row, Field>({ count, ids, seedRow }: SeedRows<T, Field>) {
  const changed = new Map<number, T>()
  const removed = new Set<number>()
  let next = count
  const at = (index: number) => {
    if (index >= next || removed.has(index)) return undefined
    return changed.get(index) ?? seedRow(index)
  }
  function* indexes() {
    for (let index = 0; index < next; index += 1) if (!removed.has(index)) yield index
  }
  const requireRow = (index: number) => {
    const row = at(index)
    if (row === undefined) throw new Error(`there is no row ${index}`)
    return row
  }
  return {
    indexes,
    changedRow: (index: number) => changed.get(index),
    requireRow,
    put(row: T) {
      next = Math.max(next, row.index + 1)
      changed.set(row.index, row)
    },
    drop(index: number) {
      removed.add(index)
      changed.delete(index)
    },
    size: () => next - removed.size,
    /** The index of the next new row. */
    nextIndex: () => next,
    at,
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
  }
}

/** The rows in order of each of their times. An order is created on its first use: most are never asked for. */
function createTimeOrders<T extends TimedRow<Field>, Field extends string>(create: (field: Field) => TimeOrder) {
  const orders = new Map<Field, TimeOrder>()
  return {
    by(field: Field): TimeOrder {
      const order = orders.get(field) ?? create(field)
      orders.set(field, order)
      return order
    },
    /** Undefined before = the row is new; undefined after = it is removed. */
    replace(before: T | undefined, after: T | undefined): void {
      for (const [field, order] of orders) {
        if (before?.[field] === after?.[field]) continue
        if (before !== undefined) order.remove(before[field], before.index)
        if (after !== undefined) order.insert(after[field], after.index)
      }
    },
  }
}
