/** Whether a page joins the one before it: asked with a second of overlap, it has to show some row of it again. */
import { secondOf } from './edge.ts'
import type { Page } from './evidence.ts'
import type { Order } from './order.ts'
import { type Next, reasons, type Walk } from './state.ts'

/** Whether the pages before have left some of the range behind, so that the next one has to join them. */
export function isNarrowed({ now, leg }: Walk): boolean {
  if (now === null || leg === null) return false
  return leg.side === 'up' ? now.lo > leg.range.lo : now.hi !== leg.range.hi
}

/** Whether a page, asked with a second of overlap, shows nothing of the page before: it may begin anywhere. */
export function isApart(walk: Walk, page: Page, order: Order | null): boolean {
  if (walk.tight || order === null || !isNarrowed(walk)) return false
  return ![...placesOf(page)].some((place) => walk.last.has(place))
}

/** A row that has moved stands elsewhere, and joins nothing. */
export function placesOf({ ids, times }: Page): ReadonlySet<string> {
  return new Set(ids.map((id, i) => `${id} ${[...(times[i] ?? [])].join()}`))
}

/** The row at the edge has moved, or the edge was taken from a time that orders nothing: once more, with half a page of overlap. */
export function goBack({ leg, last, now, back }: Walk, walk: Walk): Next {
  const turned = leg === null || now === null ? null : secondOf(leg.side, now)
  return { walk: { ...walk, now: back, leg, last, turned }, crowded: [], missed: [] }
}

export function mayGoBack({ leg, now, back, turned }: Walk): boolean {
  if (leg === null || now === null || back === null) return false
  const second = secondOf(leg.side, now)
  return turned === null || (leg.side === 'up' ? second > turned : second < turned)
}

export function torn({ now, back }: Walk, apart: boolean, next: Next): Next {
  const range = back ?? now
  return apart && range !== null ? { ...next, missed: [{ range, reason: reasons.apart }, ...next.missed] } : next
}
