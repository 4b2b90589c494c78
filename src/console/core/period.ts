/**
 * What the address of a page about a period asks for: days, an agent, and the order of the rows.
 */
import type { PeriodRow } from '../../analytics/analytics.ts'
import { type DateRange, parseDate } from '../../analytics/core/report-period.ts'
import { withQuery } from '../../values/address.ts'
import { dateText, dayNumber } from '../../values/days.ts'
import type { LocalDate } from '../../values/time.ts'

/** `isCut`: more days were asked for. `query`: the part of the address that the next page gets. */
export type Period = DateRange & {
  readonly isCut: boolean
  readonly agent: string | null
  readonly query: Readonly<Record<string, string | null>>
}

export const periodDays = [7, 28, 90, 365] as const
const defaultDays = 28
/** As in a report. */
export const maxDays = 366

/**
 * Without dates, the last four weeks until today; dates in the wrong order are exchanged, and the
 * last ones kept of too many.
 */
export function choosePeriod(query: (name: string) => string | null, today: LocalDate): Period {
  const dates = ['from', 'to'].map((name) => parseDate(query(name) ?? ''))
  const [from, to = today] = dates
  const days = [to, from ?? lastDays(to, defaultDays).from].toSorted()
  const [first = to, last = to] = days
  const earliest = lastDays(last, maxDays).from
  const isCut = first < earliest
  const range = { from: isCut ? earliest : first, to: last }
  const agent = query('agent')?.slice(0, 200) ?? null
  const isAsked = dates.some((date) => date !== undefined)
  return {
    ...range,
    isCut,
    agent,
    query: { ...(isAsked ? range : { from: null, to: null }), agent },
  }
}

export function lastDays(to: LocalDate, days: number): DateRange {
  return { from: dateText(dayNumber(to) - days + 1), to }
}

export type Order = { readonly column: string; readonly isDescending: boolean }

/** `-name`: the largest first. A column that the table does not have is that of `otherwise`. */
export function parseOrder(
  text: string | null,
  columns: readonly string[],
  otherwise: string,
): Order {
  const asked = text !== null && columns.includes(text.replace(/^-/, '')) ? text : otherwise
  return { column: asked.replace(/^-/, ''), isDescending: asked.startsWith('-') }
}

const collator = new Intl.Collator('en', { numeric: true })

/** What has no value comes last either way; equal rows by `key`. */
export function sortRows<R extends PeriodRow>(
  rows: readonly R[],
  { column, isDescending }: Order,
  key: readonly string[],
) {
  const compare = (a: PeriodRow, b: PeriodRow, name: string): number => {
    const [left = null, right = null] = [a[name], b[name]]
    if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1
    const isLess =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : collator.compare(`${left}`, `${right}`)
    return name === column && isDescending ? -isLess : isLess
  }
  return rows.toSorted(
    (a, b) => [column, ...key].map((name) => compare(a, b, name)).find((order) => order !== 0) ?? 0,
  )
}

/**
 * The title of a column sorts by it; of the column that sorts already, the other way round. Numbers
 * begin with the largest.
 */
export function sortLink(
  name: string,
  isNumber: boolean,
  { column, isDescending }: Order,
  to: (sort: string) => string,
) {
  const isNow = name === column
  const next = isNow ? !isDescending : isNumber
  return {
    to: to(`${next ? '-' : ''}${name}`),
    order: isNow
      ? isDescending
        ? ('descending' as const)
        : ('ascending' as const)
      : ('none' as const),
  }
}

/** `address`: of another page, which keeps the period and the agent. */
export function keepPeriod(
  address: string,
  { query }: Period,
  more: Readonly<Record<string, string | null>> = {},
): string {
  return withQuery(address, { ...query, ...more })
}
