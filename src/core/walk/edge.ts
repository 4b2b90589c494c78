/** Where a walk stands on the time line after a page, and what remains of its range from there. */

import type { Seconds } from '../time.ts'
import type { Side } from './knowledge.ts'
import { dropStanding, highest, lowest, type Order, type Times } from './order.ts'
import type { Range } from './position.ts'

/** What remains of a range on one side of a page; null if the page's edge did not move. */
export function edgeOf(
  side: Side,
  now: Range,
  believed: Order,
  times: readonly Times[],
): { range: Range; order: Order } | null {
  const moved = (at: Seconds) => (side === 'up' ? at > now.lo : now.hi === null || at < now.hi)
  const at = (order: Order) => (side === 'up' ? highest(order, times) : lowest(order, times))
  const all = at(believed)
  const order = all !== undefined && moved(all) ? believed : dropStanding(believed, times, moved)
  const edge = at(order)
  if (edge === undefined || !moved(edge)) return null
  return { order, range: side === 'up' ? { lo: edge, hi: now.hi } : { lo: now.lo, hi: edge } }
}

/** The same range with half of the page in it again. */
export function backOf(side: Side, range: Range, { fields }: Order, times: readonly Times[]): Range {
  const middles = fields.flatMap((field) => {
    const sorted = times.flatMap((row) => row.get(field) ?? []).sort((a, b) => a - b)
    return sorted[sorted.length >> 1] ?? []
  })
  if (side === 'up') return { lo: Math.min(range.lo, ...middles), hi: range.hi }
  return { lo: range.lo, hi: range.hi === null ? null : Math.max(range.hi, ...middles) }
}

/** The second where the walk stands. */
export function secondOf(side: Side, now: Range): Seconds {
  return side === 'up' ? now.lo : (now.hi ?? now.lo)
}

/** The range without the second where the walk stands. */
export function beyond(side: Side, now: Range): Range {
  const second = secondOf(side, now)
  return side === 'up' ? { lo: second + 1, hi: now.hi } : { lo: now.lo, hi: second - 1 }
}

/** Every time that all rows show, where none orders them: the most careful cursor there is. */
export function pretend(times: readonly Times[]): Order | null {
  const fields = [...(times[0]?.keys() ?? [])].filter((field) => times.every((row) => row.has(field)))
  return fields.length === 0 ? null : { fields, way: null }
}
