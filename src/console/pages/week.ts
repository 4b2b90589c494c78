/** The work of the last seven days beside that of the seven before them, as the views for analysts have it. */
import type { Change, Week, WeekNumbers } from '../../analytics/analytics.ts'
import { formatChange, formatValue } from '../../analytics/report/change.ts'
import { withQuery } from '../../values/address.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, section } from '../blocks.ts'
import type { ProjectFrame } from '../frame.ts'
import type { WeekData } from '../reads.ts'
import { foreignText } from '../text.ts'

/** At this moment, not at the end of a day. */
export type WaitingNow = { readonly count: Html; readonly longest: Html }

/** `page`: which has the number of each day, and what is behind it. */
type Tile = { readonly name: string; readonly of: keyof WeekNumbers } & {
  readonly unit: 'count' | 'seconds' | 'share'
  readonly page: 'charts' | 'waiting' | 'ai'
}

const tiles: readonly Tile[] = [
  { name: 'Conversations started', of: 'started', unit: 'count', page: 'charts' },
  { name: 'Until a human answered, median', of: 'medianSeconds', unit: 'seconds', page: 'charts' },
  { name: 'Waiting now', of: 'waitingAtEnd', unit: 'count', page: 'waiting' },
  { name: 'Open at the end of the last day', of: 'openAtEnd', unit: 'count', page: 'charts' },
  { name: 'Handled', of: 'handlings', unit: 'count', page: 'charts' },
  { name: 'AI only, of those with the AI', of: 'aiOnlyShare', unit: 'share', page: 'ai' },
]

export function weekSection(data: WeekData, waiting: WaitingNow, frame: ProjectFrame): Html {
  const week = typeof data === 'string' ? null : (data?.numbers ?? null)
  const counting = html`The numbers of the last 7 days are being counted. <a href="${addressOf(frame)}">Look again</a>`
  const failed = typeof data === 'string' ? html`They cannot be counted: ${foreignText(data)}` : null
  const missing = data === null ? counting : (failed ?? 'The numbers of days follow the first sync.')
  const list = html`<ul class="tiles">${tiles.map((tile) => tileOf(tile, week, waiting, frame))}</ul>`
  return section('The last 7 days', html`<p class="faint">${week === null ? missing : daysText(week)}</p>${list}`)
}

function daysText({ period, before, changes }: Week): string {
  const days = `${period.from} to ${period.to}, the last that are over and read to their end`
  if (before === null) return `${days}. No conversation is older, so nothing is compared.`
  if (!before.isWhole)
    return `${days}. The oldest conversation is of ${before.from}, so the days before are fewer than 7.`
  const unwatched = 'Reopenings were not seen then, so what was open is not compared.'
  return `${days}, beside the 7 days before.${changes.openAtEnd.comparison === 'before not whole' ? ` ${unwatched}` : ''}`
}

function tileOf(
  { name, of, unit, page }: Tile,
  week: Week | null,
  { count, longest }: WaitingNow,
  frame: ProjectFrame,
): Html {
  const change = week?.changes[of] ?? null
  const isNow = of === 'waitingAtEnd'
  const title = html`<a href="${withQuery(addressOf(frame, page), isNow ? {} : { ...week?.period })}">${name}</a>`
  const value = isNow ? count : formatValue(change?.value ?? null, unit)
  const aWeekAgo = week?.days[0]?.waitingAtEnd ?? null
  const compared = isNow
    ? html`${longest}${aWeekAgo === null ? nothing : html`; ${formatValue(aWeekAgo, unit)} a week ago, at the end of the day`}`
    : changeText(change, unit)
  const values = (days: Week['days']) => days.map((day) => day?.[of] ?? null)
  const line = week === null || isNow ? nothing : sparkline(values(week.days), values(week.daysBefore))
  return html`<li><p>${title}</p><p class="value">${value}</p>${line}<p class="faint">${compared}</p></li>\n`
}

function changeText(change: Change | null, unit: Tile['unit']): string {
  if (change === null || change.before === null) return ''
  const before = `${formatValue(change.before, unit)} before`
  return change.comparison === 'before not whole' ? before : `${before}, ${formatChange(change, unit)}`
}

type Values = readonly (number | null)[]

/** Both weeks over each other, from zero. The numbers are in the charts, so nobody reads it aloud. */
function sparkline(current: Values, before: Values): Html {
  const max = Math.max(...[...current, ...before].map((value) => value ?? 0)) || 1
  const draw = (values: Values) =>
    values.map((value, n) => {
      if (value === null) return ''
      const at = `${n * 20} ${(30 - (28 * value) / max).toFixed(1)}`
      // A day between two without a number is a dot.
      return n === 0 || values[n - 1] == null ? `M${at}h0` : `L${at}`
    })
  return html`<svg class="sparkline" viewBox="-2 0 124 32" preserveAspectRatio="none" aria-hidden="true"><path class="line third" d="${draw(before).join('')}"></path><path class="line first" d="${draw(current).join('')}"></path></svg>`
}
