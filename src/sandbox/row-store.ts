/** All rows of one kind: the seed rows, created on demand, under the later changes. */
import type { EpochMs } from '../core/time.ts'
import type { Sequence } from './model.ts'
import type { RowIds } from './seed/row-ids.ts'
import { createTimeOrder, type TimeOrder } from './time-order.ts'

export type Row = { readonly index: number; readonly id: string }

export type RowStore<T extends Row, Field extends string> = {
  /** The number of existing rows. */
  readonly size: () => number
  /** The index of the next new row. */
  readonly nextIndex: () => number
  readonly at: (index: number) => T | undefined
  readonly find: (id: string) => T | undefined
  /** A pseudo-random row, the same for the same number; undefined if there is none. */
  readonly pickNear: (draw: number) => T | undefined
  readonly add: (row: T) => void
  readonly change: (index: number, patch: Partial<T>) => void
  readonly remove: (index: number) => void
  /** Existing rows, in order of their indexes. */
  readonly all: () => Generator<T>
  readonly orderedBy: (field: Field) => Sequence<T>
  /** The row before its last change, if that is less than `withinMs` ago; else the current one. */
  readonly staleCopy: (row: T, withinMs: number) => T
  /** The row as it was `agoMs` ago; undefined if it did not exist then. */
  readonly asOf: (row: T, agoMs: number) => T | undefined
}

export type SeedRows<T, Field> = {
  readonly count: number
  readonly ids: RowIds
  readonly seedRow: (index: number) => T
  /** A time of a seed row, without creating the row. */
  readonly seedTime: (field: Field, index: number) => EpochMs
  readonly timeOf: (field: Field, row: T) => EpochMs
  /** When a seed row got its present state. */
  readonly seedSince: (index: number) => EpochMs
  readonly clock: () => EpochMs
}

/** How many earlier versions of a row are kept. */
const maxHistory = 20

export function createRowStore<T extends Row, Field extends string>(seed: SeedRows<T, Field>): RowStore<T, Field> {
  const changed = new Map<number, T>()
  const removed = new Set<number>()
  /** The earlier versions of each row, oldest first, with the end of each; undefined = did not exist yet. */
  const formerRows = new Map<number, { readonly row: T | undefined; readonly until: EpochMs }[]>()
  const orders = new Map<Field, TimeOrder>()
  let next = seed.count

  const at = (index: number) => {
    if (index >= next || removed.has(index)) return undefined
    return changed.get(index) ?? seed.seedRow(index)
  }
  function* indexes() {
    for (let index = 0; index < next; index += 1) if (!removed.has(index)) yield index
  }
  const timeOf = (field: Field, index: number) => {
    const row = changed.get(index)
    return row === undefined ? seed.seedTime(field, index) : seed.timeOf(field, row)
  }
  const orderBy = (field: Field) => {
    const order = orders.get(field) ?? createTimeOrder(indexes(), next, (index) => timeOf(field, index))
    orders.set(field, order)
    return order
  }
  const addHistory = (index: number, row: T | undefined) => {
    formerRows.set(index, [...(formerRows.get(index) ?? []), { row, until: seed.clock() }].slice(-maxHistory))
  }
  const requireRow = (index: number) => {
    const row = at(index)
    if (row === undefined) throw new Error(`there is no row ${index}`)
    return row
  }

  return {
    size: () => next - removed.size,
    nextIndex: () => next,
    at,
    find(id) {
      const index = seed.ids.indexOf(id)
      return index === undefined ? undefined : at(index)
    },
    pickNear(draw) {
      for (let step = 0; step < next; step += 1) {
        const row = at((draw + step) % next)
        if (row !== undefined) return row
      }
      return undefined
    },
    add(row) {
      next = row.index + 1
      addHistory(row.index, undefined)
      changed.set(row.index, row)
      for (const [field, order] of orders) order.insert(seed.timeOf(field, row), row.index)
    },
    change(index, patch) {
      const before = requireRow(index)
      const after = { ...before, ...patch }
      addHistory(index, before)
      changed.set(index, after)
      for (const [field, order] of orders) {
        const [was, is] = [seed.timeOf(field, before), seed.timeOf(field, after)]
        if (was === is) continue
        order.remove(was, index)
        order.insert(is, index)
      }
    },
    remove(index) {
      const row = requireRow(index)
      for (const [field, order] of orders) order.remove(seed.timeOf(field, row), index)
      removed.add(index)
      changed.delete(index)
    },
    *all() {
      for (const index of indexes()) yield requireRow(index)
    },
    orderedBy(field) {
      const order = orderBy(field)
      return { length: order.size(), timeAt: order.timeAt, rowAt: (p) => requireRow(order.indexAt(p)) }
    },
    staleCopy(row, withinMs) {
      const was = formerRows.get(row.index)?.at(-1)
      return was?.row !== undefined && seed.clock() - was.until < withinMs ? was.row : row
    },
    asOf(row, agoMs) {
      if (agoMs === 0) return row
      const at = seed.clock() - agoMs
      const was = formerRows.get(row.index)?.find(({ until }) => until > at)
      const existed = row.index >= seed.count || seed.seedSince(row.index) <= at
      return existed ? (was === undefined ? row : was.row) : undefined
    },
  }
}
