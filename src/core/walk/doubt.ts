/**
 * What the pages leave open about where a walk began, and the question that settles it: the one that the first page
 * answered, for a single row. No clock is asked: that of the answers need not agree with that of the rows.
 */
import { endOf } from './end.ts'
import { newsOf, type Page } from './evidence.ts'
import { isNarrowed } from './join.ts'
import { type Asked, learnOrder } from './order.ts'
import type { Walk } from './state.ts'

/** What to ask once more before `page` is taken for what it seems; null: it is clear enough. */
export function doubtOf(walk: Walk, asked: Asked, page: Page): Asked | null {
  const { leg, known } = walk
  if (leg === null || !isNarrowed(walk) || leg.proven || leg.tried || !leg.claimed) return null
  const { order } = learnOrder(known.order, page.times, asked)
  const news = newsOf(walk.recent, leg.begun.page, page, order)
  // Where nothing new came, the end tells something of a bound that surely works, and nothing of a habit.
  const silent = news.fresh.length === 0 && (leg.small || known.trust[leg.side] !== 'honoured')
  return silent || news.older ? null : leg.origin.asked
}

/** The walk before `page`, with the answer to the doubt about it; null = there was none. */
export function settled(walk: Walk, asked: Asked, page: Page, again: Page | null): Walk {
  const { leg, known, recent } = walk
  if (leg === null) return walk
  const order = learnOrder(known.order, page.times, asked).order ?? known.order
  const later = newsOf(recent, null, page, order).fresh
  return { ...walk, leg: { ...leg, tried: true, end: again && endOf(leg.origin.page, order, again, later) } }
}
