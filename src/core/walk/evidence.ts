/** What one page proves about the service, beyond the order of its rows: which rows are new, what bounds include. */

import type { Seconds } from '../time.ts'
import { least } from './extremes.ts'
import type { Knowledge, Side } from './knowledge.ts'
import { defaultPage } from './list.ts'
import type { Asked, Lesson, Order, Times } from './order.ts'

export type Page = {
  readonly ids: readonly string[]
  readonly times: readonly Times[]
  readonly hasMore: boolean
  /** The smaller of the two clocks when it was asked for; no row of it carries a cursor beyond. */
  readonly horizon: Seconds
}

/**
 * Rows that the last two pages did not have, whether some are older than all that the first page showed, and whether rows
 * are repeated. An older row was there before the walk began; of a newer one nobody can say when it was written, as no
 * clock but that of the rows is known to agree with them.
 */
export type News = { readonly fresh: readonly string[]; readonly older: boolean; readonly familiar: boolean }

/** `recent`: the ids of the last pages. `first`: the first page of the range, if this is a later one. */
export function newsOf(
  recent: readonly ReadonlySet<string>[],
  first: Page | null,
  page: Page,
  order: Order | null,
): News {
  const isKnown = (id: string) => recent.some((ids) => ids.has(id))
  const isFresh = (_: unknown, i: number) => !isKnown(page.ids[i] ?? '')
  const older = first !== null && order !== null && page.times.filter(isFresh).some(olderThan(first, order))
  return { fresh: page.ids.filter(isFresh), older, familiar: page.ids.some(isKnown) }
}

/** Under every candidate for the order. */
function olderThan({ times }: Page, { fields }: Order): (row: Times) => boolean {
  const edges = fields.map((field) => [field, least(times.map((row) => row.get(field) ?? 0)) ?? 0] as const)
  return (row) => edges.every(([field, at]) => (row.get(field) ?? at) < at)
}

/** Whether the service says that more follows a page so small that it cannot have been cut off. */
export function isShort({ ids, hasMore }: Page): boolean {
  return hasMore && ids.length < defaultPage
}

/** The same times, the other way round: pages may run so with one bound and otherwise without. */
function isTurned(before: Order | null, now: Order | null): boolean {
  if (before?.way == null || now?.way == null || before.way === now.way) return false
  return now.fields.every((field) => before.fields.includes(field))
}

type Going = {
  readonly side: Side | null
  readonly proven: boolean
  readonly tight: boolean
  readonly short: boolean
}

/**
 * What is known after a page. `side`: the way the walk goes, null before it is known; `proven`: this page proves it;
 * `tight`: asked without overlap; `short`: the page before was.
 */
export function learn(
  known: Knowledge,
  { side, proven, tight, short }: Going,
  lesson: Lesson,
  asked: Asked,
  page: Page,
  news: News,
): Knowledge {
  const { order } = lesson
  const included = (way: Side) => {
    const at = way === 'up' ? asked.lower : asked.upper
    const [field, ...others] = order?.fields ?? []
    // A bound that compares with fractions may show some of its second and not all: that it once cut rows off stays true.
    if (at === undefined || field === undefined || known.includes[way] === false) return known.includes[way]
    if (others.length === 0 && page.times.some((row) => row.get(field) === at)) return true
    // Without overlap we asked for a second that is known to hold rows: what does not come is excluded.
    const asking = tight && side === way && known.includes[way] === null
    return asking ? news.familiar || page.times.some((row) => row.get(field) === at) : known.includes[way]
  }
  const shown = proven ? side : null
  const { limit } = known.trust
  const heard = page.ids.length > defaultPage ? 'honoured' : page.hasMore ? 'ignored' : 'try'
  const bounds = shown !== null && known.trust[shown] === 'try' ? { [shown]: 'honoured' as const } : {}
  const more = page.hasMore ? known.exact : true
  return {
    ...known,
    order,
    bothWays: known.bothWays || isTurned(known.order, lesson.order),
    includes: { up: included('up'), down: included('down') },
    side: lesson.changed ? null : (shown ?? known.side),
    // Who always says that there is more never says that there is not.
    exact: !short || known.exact ? known.exact : news.fresh.length > 0 ? more : false,
    trust: { ...known.trust, ...bounds, limit: limit === 'try' ? heard : limit },
    largest: page.hasMore ? Math.max(known.largest, page.ids.length) : known.largest,
  }
}
