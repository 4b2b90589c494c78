/**
 * Which time field a list is ordered by, learned from its pages. The documentation does not say; a wrong guess loses
 * rows. So every field that the pages seen so far do not contradict stays a candidate, and a cursor is computed to be
 * safe under all of them.
 */
import type { Seconds } from '../time.ts'
import { maxOf, minOf } from './min-max.ts'

/** The times of one item, by dotted path. */
export type RowTimes = ReadonlyMap<string, Seconds>

export type SortDirection = 'ascending' | 'descending'

export type SortOrder = {
  /** Fields that may be the one; never empty. */
  readonly fields: readonly string[]
  /** Null: no two different times have been seen yet. */
  readonly direction: SortDirection | null
}

/** The bounds that a page was asked with, in seconds; undefined = not asked. */
export type TimeBounds = { readonly lower?: Seconds | undefined; readonly upper?: Seconds | undefined }

export type OrderObservation = {
  readonly order: SortOrder | null
  /** The page contradicts what was believed, clearly enough to believe the page. */
  readonly isChanged: boolean
  /** No field of the page agrees with any order at all. */
  readonly isUnordered: boolean
}

/** Fewer rows than this can be in order by chance, or out of it by a stale copy: they change no belief. */
const minTellingRows = 10

/** What the order is believed to be after one more page. A few rows in fifty may be stale copies. */
export function inferOrder(
  believed: SortOrder | null,
  rows: readonly RowTimes[],
  bounds: TimeBounds,
): OrderObservation {
  if (rows.length === 0) return { order: believed, isChanged: false, isUnordered: false }
  const seen = [...(rows[0]?.keys() ?? [])].flatMap((field) => toFieldTrend(field, rows, bounds) ?? [])
  const direction = commonDirection(seen)
  const agreeing = seen.filter((field) => direction === null || field[direction]).map((field) => field.name)
  const kept = believed?.fields.filter((field) => agreeing.includes(field)) ?? agreeing
  const isReversed = believed?.direction != null && direction !== null && direction !== believed.direction
  if (kept.length > 0 && !isReversed) {
    return {
      order: { fields: kept, direction: believed?.direction ?? direction },
      isChanged: false,
      isUnordered: false,
    }
  }
  if (agreeing.length > 0 && direction !== null && rows.length >= minTellingRows) {
    return { order: { fields: agreeing, direction }, isChanged: believed !== null, isUnordered: false }
  }
  // Nothing explains so many rows, least of all what was believed: a cursor from that could pass rows by.
  return rows.length < minTellingRows
    ? { order: believed, isChanged: false, isUnordered: false }
    : { order: null, isChanged: false, isUnordered: true }
}

type FieldTrend = { readonly name: string; readonly ascending: boolean; readonly descending: boolean }

/** How one field runs through a page; undefined if it is not in every row, or breaks the bounds that were asked for. */
function toFieldTrend(name: string, rows: readonly RowTimes[], bounds: TimeBounds): FieldTrend | undefined {
  const stale = Math.floor(rows.length / 50)
  let [falls, rises, outside] = [0, 0, 0]
  let before: Seconds | undefined
  for (const row of rows) {
    const at = row.get(name)
    if (at === undefined) return undefined
    if (before !== undefined && at < before) falls++
    if (before !== undefined && at > before) rises++
    if (at < (bounds.lower ?? at) || at > (bounds.upper ?? at)) outside++
    before = at
  }
  if (outside > stale || (falls > stale && rises > stale)) return undefined
  return { name, ascending: falls <= stale, descending: rises <= stale }
}

/** The way that some field runs and none contradicts. */
function commonDirection(fields: readonly FieldTrend[]): SortDirection | null {
  const isAscending = fields.some((field) => field.ascending && !field.descending)
  const isDescending = fields.some((field) => field.descending && !field.ascending)
  return isAscending === isDescending ? null : isAscending ? 'ascending' : 'descending'
}

/** The moment up to which a page that went up is surely complete, its own second excluded: safe under every candidate. */
export function completeUpTo(order: SortOrder, rows: readonly RowTimes[]): Seconds | undefined {
  return minOf(fieldEdges(order, rows, maxOf))
}

/** The moment down to which a page that went down is surely complete, its own second excluded. */
export function completeDownTo(order: SortOrder, rows: readonly RowTimes[]): Seconds | undefined {
  return maxOf(fieldEdges(order, rows, minOf))
}

/** Without the candidates that stand still while another one moves on past `from`: those are not the order. */
export function dropUnmovedFields(
  order: SortOrder,
  rows: readonly RowTimes[],
  moved: (edge: Seconds) => boolean,
): SortOrder {
  const pick = order.direction === 'descending' ? minOf : maxOf
  const moving = order.fields.filter((field) => moved(fieldExtreme(field, rows, pick) ?? Number.NaN))
  return moving.length === 0 ? order : { ...order, fields: moving }
}

type ExtremeOf = typeof minOf

function fieldEdges({ fields }: SortOrder, rows: readonly RowTimes[], pick: ExtremeOf): Seconds[] {
  return fields.map((field) => fieldExtreme(field, rows, pick)).filter((edge) => edge !== undefined)
}

function fieldExtreme(field: string, rows: readonly RowTimes[], pick: ExtremeOf): Seconds | undefined {
  return pick(rows.map((row) => row.get(field)).filter((at) => at !== undefined))
}
