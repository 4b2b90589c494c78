/**
 * Which time field a list is ordered by, learned from its pages. The documentation does not say; a wrong guess loses
 * rows. So every field that the pages seen so far do not contradict stays a candidate, and a cursor is computed to be
 * safe under all of them.
 */
import type { Seconds } from '../time.ts'
import { greatest, least } from './extremes.ts'

/** The times of one item, by dotted path. */
export type Times = ReadonlyMap<string, Seconds>

export type Way = 'ascending' | 'descending'

export type Order = {
  /** Fields that may be the one; never empty. */
  readonly fields: readonly string[]
  /** Null: no two different times have been seen yet. */
  readonly way: Way | null
}

/** The bounds that a page was asked with, in seconds; undefined = not asked. */
export type Asked = { readonly lower?: Seconds | undefined; readonly upper?: Seconds | undefined }

export type Lesson = {
  readonly order: Order | null
  /** The page contradicts what was believed, clearly enough to believe the page. */
  readonly changed: boolean
  /** No field of the page agrees with any order at all. */
  readonly unordered: boolean
}

/** Fewer rows than this can be in order by chance, or out of it by a stale copy: they change no belief. */
const telling = 10

/** What the order is believed to be after one more page. A few rows in fifty may be stale copies. */
export function learnOrder(believed: Order | null, rows: readonly Times[], asked: Asked): Lesson {
  if (rows.length === 0) return { order: believed, changed: false, unordered: false }
  const seen = [...(rows[0]?.keys() ?? [])].flatMap((field) => look(field, rows, asked) ?? [])
  const way = wayOf(seen)
  const agreeing = seen.filter((field) => way === null || field[way]).map((field) => field.name)
  const kept = believed?.fields.filter((field) => agreeing.includes(field)) ?? agreeing
  const turned = believed?.way != null && way !== null && way !== believed.way
  if (kept.length > 0 && !turned) {
    return { order: { fields: kept, way: believed?.way ?? way }, changed: false, unordered: false }
  }
  if (agreeing.length > 0 && way !== null && rows.length >= telling) {
    return { order: { fields: agreeing, way }, changed: believed !== null, unordered: false }
  }
  // Nothing explains so many rows, least of all what was believed: a cursor from that could pass rows by.
  return rows.length < telling
    ? { order: believed, changed: false, unordered: false }
    : { order: null, changed: false, unordered: true }
}

type Look = { readonly name: string; readonly ascending: boolean; readonly descending: boolean }

/** How one field runs through a page; undefined if it is not in every row, or breaks the bounds that were asked for. */
function look(name: string, rows: readonly Times[], asked: Asked): Look | undefined {
  const stale = Math.floor(rows.length / 50)
  let [falls, rises, outside] = [0, 0, 0]
  let before: Seconds | undefined
  for (const row of rows) {
    const at = row.get(name)
    if (at === undefined) return undefined
    if (before !== undefined && at < before) falls++
    if (before !== undefined && at > before) rises++
    if (at < (asked.lower ?? at) || at > (asked.upper ?? at)) outside++
    before = at
  }
  if (outside > stale || (falls > stale && rises > stale)) return undefined
  return { name, ascending: falls <= stale, descending: rises <= stale }
}

/** The way that some field runs and none contradicts. */
function wayOf(fields: readonly Look[]): Way | null {
  const up = fields.some((field) => field.ascending && !field.descending)
  const down = fields.some((field) => field.descending && !field.ascending)
  return up === down ? null : up ? 'ascending' : 'descending'
}

/** The moment up to which a page that went up is surely complete, its own second excluded: safe under every candidate. */
export function highest(order: Order, rows: readonly Times[]): Seconds | undefined {
  return least(edgesOf(order, rows, greatest))
}

/** The moment down to which a page that went down is surely complete, its own second excluded. */
export function lowest(order: Order, rows: readonly Times[]): Seconds | undefined {
  return greatest(edgesOf(order, rows, least))
}

/** Without the candidates that stand still while another one moves on past `from`: those are not the order. */
export function dropStanding(order: Order, rows: readonly Times[], moved: (edge: Seconds) => boolean): Order {
  const pick = order.way === 'descending' ? least : greatest
  const moving = order.fields.filter((field) => moved(extreme(field, rows, pick) ?? Number.NaN))
  return moving.length === 0 ? order : { ...order, fields: moving }
}

type Pick = typeof least

function edgesOf({ fields }: Order, rows: readonly Times[], pick: Pick): Seconds[] {
  return fields.map((field) => extreme(field, rows, pick)).filter((edge) => edge !== undefined)
}

function extreme(field: string, rows: readonly Times[], pick: Pick): Seconds | undefined {
  return pick(rows.map((row) => row.get(field)).filter((at) => at !== undefined))
}
