/** What one page proves about the service, beyond the order of its rows: which rows are new, what bounds include. */
import type { Knowledge, Side } from './knowledge.ts'
import { defaultPage } from './list.ts'
import type { Asked, Lesson, Order, Times } from './order.ts'
import type { Seconds } from './time.ts'

export type Page = {
  readonly ids: readonly string[]
  readonly times: readonly Times[]
  readonly hasMore: boolean
  /** The service's clock; null where it does not tell. */
  readonly servedAt: Seconds | null
}

/** Rows that the last two pages did not have, those of them that were there before, and rows that are repeated. */
export type News = { readonly fresh: boolean; readonly telling: boolean; readonly familiar: boolean }

/** `recent`: the ids of the last pages. `since`: the service's clock at the first one; null where it does not tell. */
export function newsOf(
  recent: readonly ReadonlySet<string>[],
  since: Seconds | null,
  page: Page,
  order: Order | null,
): News {
  const isKnown = (id: string) => recent.some((ids) => ids.has(id))
  const fresh = page.times.filter((_, i) => !isKnown(page.ids[i] ?? ''))
  return {
    fresh: fresh.length > 0,
    telling: fresh.some((row) => isOld(row, order, since)),
    familiar: page.ids.some(isKnown),
  }
}

function isOld(row: Times, order: Order | null, since: Seconds | null): boolean {
  return since === null || (order?.fields ?? []).every((field) => (row.get(field) ?? 0) < since)
}

/** Whether the service says that more follows a page so small that it cannot have been cut off. */
export function isShort({ ids, hasMore }: Page): boolean {
  return hasMore && ids.length < defaultPage
}

/**
 * What is known after a page. `side`: the way the walk goes, null before it is known; `tight`: asked without overlap;
 * `short`: the page before was.
 */
export function learn(
  known: Knowledge,
  { side, tight, short }: { readonly side: Side | null; readonly tight: boolean; readonly short: boolean },
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
  const proven = news.telling ? side : null
  const { limit } = known.trust
  const heard = page.ids.length > defaultPage ? 'honoured' : page.hasMore ? 'ignored' : 'try'
  const bounds = proven !== null && known.trust[proven] === 'try' ? { [proven]: 'honoured' as const } : {}
  return {
    ...known,
    order,
    includes: { up: included('up'), down: included('down') },
    side: lesson.changed ? null : (proven ?? known.side),
    exact: !short || known.exact ? known.exact : news.telling ? true : news.fresh ? known.exact : false,
    trust: { ...known.trust, ...bounds, limit: limit === 'try' ? heard : limit },
    largest: page.hasMore ? Math.max(known.largest, page.ids.length) : known.largest,
  }
}
