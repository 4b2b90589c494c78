/**
 * The walk over a list: which page to ask for next, and what a page proves. Pure: a page in, the next state out.
 *
 * A walk covers ranges of the time line, second by second. It knows nothing for certain about the service: which time
 * orders the list, which end comes first, whether bounds include their own second, whether `hasMore` is exact. It asks
 * with one second of overlap, which is right either way, and lets the pages tell the rest.
 *
 *   ask ──▶ page not full ───────────────────────────▶ range covered
 *    ▲      page full, its edge moved on ──▶ ask from the edge
 *    │      edge did not move ──▶ ask without overlap ──▶ still not: a crowded second; name it, go on behind it
 *    └────────────────────────────────────────────────┘
 */

import type { Seconds } from '../time.ts'
import { backOf, beyond, edgeOf, pretend, secondOf } from './edge.ts'
import { isShort, learn, type News, newsOf, type Page } from './evidence.ts'
import { goBack, isApart, isNarrowed, mayGoBack, placesOf, torn } from './join.ts'
import { ignorance, type Knowledge, type Side } from './knowledge.ts'
import { type List, pageLimit } from './list.ts'
import { type Asked, highest, learnOrder, type Order, type Times } from './order.ts'
import { everything, type Range } from './position.ts'
import { type Leg, type Next, type Opening, reasons, type Step, type Walk } from './state.ts'

/** A walk over some ranges, the open end first: news before history. */
export function startWalk(
  list: List,
  known: Knowledge | null,
  ranges: readonly Range[],
  habit: boolean | null = null,
): Walk {
  const [now = null, ...rest] = [...ranges].sort((a, b) => Number(b.hi === null) - Number(a.hi === null))
  return {
    list,
    known: begun(known ?? ignorance(list)),
    now,
    rest,
    tail: null,
    cap: null,
    leg: null,
    tight: false,
    joints: [],
    recent: [],
    barren: false,
    short: false,
    loose: null,
    habit,
    unordered: false,
    last: new Set(),
    back: null,
    turned: null,
  }
}

/** Where pages run both ways, no belief about the way is brought along. */
function begun(known: Knowledge): Knowledge {
  return known.bothWays && known.order !== null ? { ...known, order: { ...known.order, way: null } } : known
}

/** Stands for the open end of the time line, where a service wants both bounds: 2100-01-01T00:00:00Z. */
const forever: Seconds = 4_102_444_800

/** The bounds to ask the next page with. One second more than needed on each side, as bounds may exclude themselves. */
export function ask(walk: Walk): Asked {
  const { now, known, tight, leg, list } = walk
  if (now === null) return {}
  const sent = (side: Side) => known.trust[side] === 'honoured' || (known.trust[side] === 'try' && leg?.side === side)
  const exact = (side: Side) => tight && known.includes[side] !== false && (leg === null || leg.side === side)
  const begins = leg === null && !(known.side === 'up' && known.trust.up === 'honoured')
  const bounded = list.documented || now.lo > 0 || !begins
  const end = now.hi === null ? (known.closed ? forever : undefined) : exact('down') ? now.hi : now.hi + 1
  return {
    lower: sent('up') && bounded ? Math.max(0, exact('up') ? now.lo : now.lo - 1) : undefined,
    upper: sent('down') ? end : undefined,
  }
}

/** What is still to be covered, by this pass or the next: the position to store with the page's rows. */
export function position(walk: Walk): readonly Range[] {
  return [...(walk.now === null ? [] : [walk.now]), ...walk.rest, ...(walk.tail === null ? [] : [walk.tail])]
}

/** The state after a page that was asked with `asked`. */
export function step(before: Walk, asked: Asked, page: Page): Step {
  const { now, loose } = before
  const lesson = learnOrder(before.known.order, page.times, asked)
  const news = newsOf(before.recent, before.leg?.begun.page ?? null, page, lesson.order)
  const apart = isApart(before, page, lesson.order)
  const from = before.leg && originOf(before, before.leg, { page, asked })
  const whole = !isFull(before.known, page) && before.leg !== null && isFiltered(before.leg, asked, page)
  const proven = !apart && from !== null && (proves(from, news) || whole)
  const going = { side: before.leg?.side ?? null, proven, tight: before.tight, short: before.short }
  const known = learn(before.known, going, lesson, asked, page, news)
  const full = isFull(known, page)
  const walk: Walk = {
    ...before,
    known,
    cap: capOf(before, known, page),
    joints: [],
    recent: [new Set(page.ids), ...before.recent.slice(0, 1)],
    last: placesOf(page),
    back: null,
    barren: before.barren && news.fresh.length === 0,
    loose: full && lesson.unordered && now !== null ? { last: page.ids.at(-1) ?? '', range: now } : null,
    short: isShort(page),
    leg: from && afterPage(from, known, proven),
  }
  const trying = walk.leg !== null && before.known.trust[walk.leg.side] === 'try'
  if (trying && lesson.unordered) return { ...distrust(before, 'ignored'), changed: false }
  if (apart && mayGoBack(before)) return { ...goBack(before, walk), changed: lesson.changed }
  const turn = cuts(before, page) ? behind(walk, asked, page, full) : proceed(walk, asked, page, full)
  const next = hollow(before, page, torn(before, apart, turn))
  const lost = loose !== null && !page.ids.includes(loose.last) ? loose : next.walk.leg === null ? walk.loose : null
  if (lost === null || before.unordered) return { ...next, changed: lesson.changed }
  return {
    walk: { ...next.walk, unordered: true },
    crowded: next.crowded,
    missed: [{ range: lost.range, reason: reasons.unordered }, ...next.missed],
    changed: lesson.changed,
  }
}

/** The state after a 400: to the page size or the bound being tried, where undocumented, or to a bound left out. */
export function refused(walk: Walk, parameter: Refused): Step {
  if (parameter === 'bound') return { ...distrust(walk, 'refused'), changed: false }
  const open: Knowledge = { ...walk.known, closed: true }
  const known: Knowledge =
    parameter === 'open end' ? open : { ...walk.known, trust: { ...walk.known.trust, limit: 'refused' as const } }
  return { walk: { ...walk, known }, crowded: [], missed: [], changed: false }
}

export type Refused = 'limit' | 'bound' | 'open end'

/** More rows than a page can have, and no word of others: the service does not page at all. */
function isFull({ exact }: Knowledge, page: Page): boolean {
  const more = page.hasMore && (exact !== false || !isShort(page))
  return page.ids.length > 0 && (more || page.ids.length === pageLimit)
}

/** Older rows were there before the walk began; newer ones may have been written since, if not the oldest came first. */
function proves({ side, end }: Leg, news: News): boolean {
  return news.older || (side === 'up' && end === 'up' && news.fresh.length > 0)
}

/** Whether a page of the whole range shows that its lower bound holds rows back: by those that the first page showed without. */
function isFiltered({ side, begun, range }: Leg, { lower }: Asked, { times }: Page): boolean {
  if (side !== 'up' || lower === undefined || lower > range.lo || begun.asked.lower !== undefined) return false
  const isBefore = (row: Times) => row.size > 0 && [...row.values()].every((at) => at < lower)
  return begun.page.times.some(isBefore) && !times.some(isBefore)
}

/** What is known of the page that a side goes on from is nothing about one with which it begins anew. */
function originOf(before: Walk, leg: Leg, origin: Opening): Leg {
  return isNarrowed(before) ? leg : { ...leg, origin, end: null, tried: false }
}

function afterPage(leg: Leg, known: Knowledge, proven: boolean): Leg {
  return {
    ...leg,
    claimed: leg.claimed && (known.exact !== false || !leg.small),
    proven: leg.proven || proven || (leg.end === leg.side && known.trust[leg.side] === 'honoured'),
    doubt: leg.doubt ?? (leg.end === null || leg.end === leg.side ? null : leg.range),
  }
}

/** An empty page with more behind it leads nowhere: nobody can say what comes after it. */
function hollow({ now, known, habit, leg }: Walk, { ids, hasMore }: Page, next: Next): Next {
  if (ids.length > 0 || !hasMore || habit === true || known.exact === false || now === null) return next
  if (habit === null && leg === null && now.lo === 0) return next
  return { ...next, missed: [...next.missed, { range: now, reason: reasons.hollow }] }
}

function proceed(walk: Walk, asked: Asked, page: Page, full: boolean): Next {
  return full ? onward(walk, asked, page) : covered(walk, page)
}

/**
 * Asking without overlap has just shown that a bound excludes its second, or cuts through it where it compares with
 * fractions that no row shows: the page does not join the one before. It lies behind the second, which is crowded.
 */
function cuts({ joints }: Walk, { ids }: Page): boolean {
  const shown = new Set(ids)
  return joints.length > 0 && !joints.some((id) => shown.has(id))
}

/** The rows of a page that lie in this second. */
function jointsOf({ known: { order } }: Walk, second: Seconds, { ids, times }: Page): string[] {
  return ids.filter((_, i) => order?.fields.some((field) => times[i]?.get(field) === second))
}

function behind(walk: Walk, asked: Asked, page: Page, full: boolean): Next {
  const { now, leg, known } = walk
  if (now === null || leg === null) return covered(walk, page)
  const second = secondOf(leg.side, now)
  const cut: Knowledge = { ...known, includes: { ...known.includes, [leg.side]: false } }
  const next = proceed({ ...walk, known: cut, now: beyond(leg.side, now), tight: false }, asked, page, full)
  return { ...next, crowded: [second, ...next.crowded] }
}

/** After a full page: on from its edge, or through a second that is too crowded. */
function onward(walk: Walk, asked: Asked, page: Page): Next {
  const now = walk.now as Range
  const order = walk.known.order ?? pretend(page.times)
  if (order === null) return lose(walk, page, now)
  if (walk.leg === null) return begin(walk, asked, page, order)
  const edge = edgeOf(walk.leg.side, now, order, page.times)
  if (edge === null) return stuck(walk, asked, page)
  // At the end of a list all times stand still.
  const known: Knowledge = walk.known.order === null || isShort(page) ? walk.known : { ...walk.known, order: edge.order }
  const back = backOf(walk.leg.side, edge.range, order, page.times)
  return still({ ...walk, known, back, tight: false }, edge.range, page)
}

/** The first full page of a range: it shows which way the pages lead. */
function begin(walk: Walk, asked: Asked, page: Page, order: Order): Next {
  const now = walk.now as Range
  const up = edgeOf('up', now, order, page.times)?.range ?? now
  const down = edgeOf('down', now, order, page.times)?.range ?? now
  // Newest rows first without a bound: with one, the service may well begin at the old end, so all of it is still to come.
  const whole = order.way === 'descending' && asked.lower === undefined
  const leg = firstLeg(walk, { page, asked }, { up: whole ? now : up, down })
  if (!usable(walk, leg.side)) return covered({ ...walk, leg }, page)
  const range = leg.side === 'up' ? (whole ? now : up) : down
  return still({ ...walk, leg, back: backOf(leg.side, range, order, page.times) }, range, page)
}

function firstLeg(walk: Walk, begun: Opening, edges: Readonly<Record<Side, Range>>): Leg {
  const { side, trust, order } = walk.known
  const upwards = order?.way == null ? usable(walk, 'up') || !usable(walk, 'down') : order.way === 'ascending'
  const suggested: Side = upwards ? 'up' : 'down'
  const opposite: Side = suggested === 'up' ? 'down' : 'up'
  const pick = side ?? (usable(walk, suggested) ? suggested : opposite)
  const spare: Side = pick === 'up' ? 'down' : 'up'
  const silent = !walk.list.documented && (trust.up !== 'honoured' || trust.down !== 'honoured')
  return {
    side: pick,
    other: side === null && usable(walk, spare) ? edges[spare] : null,
    proven: side !== null && usable(walk, side),
    claimed: begun.page.hasMore,
    small: isShort(begun.page),
    begun,
    range: walk.now ?? everything,
    origin: begun,
    end: null,
    tried: false,
    doubt: silent || pick !== suggested || !usable(walk, pick) ? walk.now : null,
  }
}

function usable(walk: Walk, side: Side): boolean {
  return walk.known.trust[side] === 'honoured' || walk.known.trust[side] === 'try'
}

/** On with what remains of the range; the open end is put aside for the next pass when the walk turns down. */
function still(walk: Walk, range: Range, page: Page | null): Next {
  const opened = walk.now?.hi === null && range.hi !== null
  const tail = opened && walk.now !== null ? tailOf(walk, walk.now, page) : walk.tail
  const next: Walk = { ...walk, now: range, tail: range.hi === null ? null : tail }
  if (range.hi !== null && range.hi < range.lo) return covered(next, page)
  return { walk: next, crowded: [], missed: [] }
}

/** The edge does not move: nothing more, an overlap that fills the page, or a second with more rows than a page. */
function stuck(walk: Walk, asked: Asked, page: Page): Next {
  const { now, leg, known, barren } = walk
  if (now === null || leg === null || !page.hasMore || page.ids.length < known.largest) return covered(walk, page)
  const second = secondOf(leg.side, now)
  const exact = (leg.side === 'up' ? asked.lower : asked.upper) === second
  if (!exact && known.includes[leg.side] !== false) {
    return { walk: { ...walk, tight: true, joints: jointsOf(walk, second, page) }, crowded: [], missed: [] }
  }
  if (barren) return lose(walk, page, now)
  return { ...still({ ...walk, tight: true, barren: true }, beyond(leg.side, now), page), crowded: [second] }
}

/** The side being tried leads nowhere: the other one, or the end. */
function distrust(walk: Walk, why: 'refused' | 'ignored'): Next {
  const { leg, known } = walk
  if (leg === null) return covered(walk, null)
  const trust = { ...known.trust, [leg.side]: why }
  const includes = { ...known.includes, [leg.side]: null }
  const unmasked: Leg = { ...leg, proven: false, claimed: true, doubt: leg.doubt ?? walk.now }
  return covered({ ...walk, known: { ...known, trust, includes }, leg: unmasked }, null)
}

/** The rest of the range cannot be had; nor what was in doubt before. */
function lose(walk: Walk, page: Page, range: Range): Next {
  const { leg } = walk
  const lost = leg?.claimed && !leg.proven && leg.doubt !== null ? leg.doubt : range
  const next = covered({ ...walk, leg: null }, page)
  return { ...next, missed: [{ range: lost, reason: reasons.unreachable }, ...next.missed] }
}

/** Nothing more comes on this side of the range: the other side, if the service claimed more; else the next range. */
function covered(walk: Walk, page: Page | null): Next {
  const { leg, rest, now } = walk
  const unproven = leg?.claimed === true && !leg.proven
  if (unproven && leg.other !== null) {
    const side: Side = leg.side === 'up' ? 'down' : 'up'
    const recent = [new Set(leg.begun.page.ids)]
    const last = placesOf(leg.begun.page)
    return still(
      { ...walk, recent, last, turned: null, tight: false, barren: false, leg: { ...leg, side, other: null } },
      leg.other,
      page,
    )
  }
  const tail = now?.hi === null ? tailOf(walk, now, page) : walk.tail
  const [first = null, ...others] = rest
  const next: Walk = {
    ...walk,
    now: first,
    rest: others,
    tail,
    leg: null,
    tight: false,
    recent: [],
    turned: null,
    barren: false,
    short: false,
  }
  const doubt = unproven ? leg.doubt : null
  return { walk: next, crowded: [], missed: doubt === null ? [] : [{ range: doubt, reason: reasons.unreachable }] }
}

/** Where the next pass begins: with the newest second seen, if the clocks have come so far. */
function tailOf({ known, cap }: Walk, { lo }: Range, page: Page | null): Range {
  const seen = page === null ? lo : Math.max(lo, newest(known, page))
  return { lo: Math.min(seen, page?.horizon ?? seen, cap ?? seen), hi: null }
}

function capOf({ cap, now }: Walk, known: Knowledge, page: Page): Seconds | null {
  if (cap !== null || now === null || now.hi !== null) return cap
  return newest(known, page) > page.horizon ? page.horizon : null
}

function newest({ order }: Knowledge, page: Page): Seconds {
  return (order === null ? undefined : highest(order, page.times)) ?? 0
}
