/** From which end of a list a page was taken: seen when its question is asked again, for a single row. */
import type { Page } from './evidence.ts'
import type { Side } from './knowledge.ts'
import type { Order, Times, Way } from './order.ts'

/**
 * `up`: from the old end, so that what follows is newer. `later`: rows that were seen after the page; taken from the new
 * end, it would show them now. Null: the answer does not tell.
 */
export function endOf(page: Page, order: Order | null, again: Page, later: readonly string[]): Side | null {
  if (again.ids.some((id) => later.includes(id)) || again.times.some(newerThan(page, order))) return 'down'
  const place = page.ids.findIndex((id) => again.ids.includes(id))
  if (place === -1) return null
  // A service that does not hear `limit` shows the page again.
  if (again.ids.length > 1) return later.length > 0 ? 'up' : null
  const way = wayShown(page, order)
  // A row that has moved stood elsewhere when the page was cut.
  const moved = order?.fields.some((field) => page.times[place]?.get(field) !== again.times[0]?.get(field))
  if (way === null || moved !== false) return null
  // Rows vanish while we ask: near an end is enough.
  const early = place < page.ids.length / 2
  return early === (way === 'ascending') ? 'up' : 'down'
}

function newerThan({ times }: Page, order: Order | null): (row: Times) => boolean {
  const most = (order?.fields ?? []).map(
    (field) => [field, Math.max(...times.map((row) => row.get(field) ?? 0))] as const,
  )
  return (row) => most.length > 0 && most.every(([field, at]) => (row.get(field) ?? at) > at)
}

/** Which half of a page is the newer one, if all candidates for the order agree: a belief from other pages may be wrong. */
function wayShown({ times }: Page, order: Order | null): Way | null {
  const half = Math.floor(times.length / 2)
  const ways = (order?.fields ?? []).map((field) => {
    const sum = (rows: Page['times']) => rows.reduce((total, row) => total + (row.get(field) ?? 0), 0)
    return Math.sign(sum(times.slice(-half)) - sum(times.slice(0, half)))
  })
  if (half === 0 || ways.length === 0) return null
  return ways.every((sign) => sign > 0) ? 'ascending' : ways.every((sign) => sign < 0) ? 'descending' : null
}
