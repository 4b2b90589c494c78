/** From which end of a list a page was taken: seen when its question is asked again, for a single row. */
import type { Page } from './evidence.ts'
import { greatest, least } from './extremes.ts'
import type { Side } from './knowledge.ts'
import type { Order, Times, Way } from './order.ts'

/**
 * `up`: from the old end, so that what follows is newer. `later`: rows that were seen after the page; taken from the new
 * end, it would show them now. Null: the answer does not tell.
 */
export function endOf(page: Page, order: Order | null, again: Page, later: readonly string[]): Side | null {
  const shown = new Set(again.ids)
  if (later.some((id) => shown.has(id))) return 'down'
  const place = page.ids.findIndex((id) => shown.has(id))
  // A service that does not hear `limit` shows the page again.
  if (again.ids.length > 1) return place !== -1 && later.length > 0 ? 'up' : null
  const fields = order?.fields ?? []
  const stands = fields.every((field) => page.times[place]?.get(field) === again.times[0]?.get(field))
  // One row that has just come, or moved, to the new end: nobody would show it as the oldest.
  if (!stands) return again.times.some(isLast(page, fields)) ? 'down' : null
  const way = wayShown(page, fields)
  // Rows vanish while we ask: near an end is enough.
  const early = place < page.ids.length / 2
  return way === null || place === -1 ? null : early === (way === 'ascending') ? 'up' : 'down'
}

/** Whether a row is as new as the newest of a page, by some time by which the page's rows differ. */
function isLast({ times }: Page, fields: readonly string[]): (row: Times) => boolean {
  const spans = fields.map((field) => [field, times.map((row) => row.get(field) ?? 0)] as const)
  const ends = spans.map(([field, all]) => [field, least(all) ?? 0, greatest(all) ?? 0] as const)
  return (row) => ends.some(([field, first, last]) => first < last && (row.get(field) ?? first) >= last)
}

/**
 * How a page itself runs, if no two candidates for the order contradict each other: a belief from other pages may be wrong.
 * By its steps, as a few rows may be out of order by much.
 */
function wayShown({ times }: Page, fields: readonly string[]): Way | null {
  const ways = fields.map((field) => {
    const steps = times.slice(1).map((row, i) => Math.sign((row.get(field) ?? 0) - (times[i]?.get(field) ?? 0)))
    return Math.sign(steps.reduce<number>((sum, step) => sum + step, 0))
  })
  const [up, down] = [ways.includes(1), ways.includes(-1)]
  return up === down ? null : up ? 'ascending' : 'descending'
}
