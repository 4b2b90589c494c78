/** The work of the last seven days beside that of the seven before them, as the report has it. */
import type { Change, Report } from '../../analytics/analytics.ts'
import { formatChange, formatValue } from '../../analytics/report/change.ts'
import { withQuery } from '../../values/address.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, section } from '../blocks.ts'
import type { ProjectFrame } from '../frame.ts'
import type { ConsoleReads } from '../reads.ts'
import { foreignText } from '../text.ts'

/** At this moment, not at the end of a day. `more`: in words; null = nothing. */
export type PresentNumbers = Readonly<
  Record<'open' | 'waiting', { readonly count: string; readonly more: Html | null }>
>

/** `page`: which has the number of each day, and what is behind it. `ofDay`: drawn as a line. */
type Tile = {
  readonly name: string
  readonly of: (report: Report) => Change | undefined
  readonly ofDay?: (day: Report['days'][number]) => number | null
  readonly unit: 'count' | 'seconds' | 'share'
  readonly page: 'charts' | 'ai' | keyof PresentNumbers
}

const tiles: readonly Tile[] = [
  {
    name: 'Conversations started',
    unit: 'count',
    page: 'charts',
    of: ({ volume }) => volume.conversationsStarted,
    ofDay: ({ started }) => started,
  },
  {
    name: 'Until a human answered, median',
    unit: 'seconds',
    page: 'charts',
    of: ({ responseTimes }) =>
      responseTimes.find(
        ({ which, clock, hours }) => which === 'every' && clock === 'human' && hours === 'all',
      )?.medianSeconds,
    ofDay: ({ humanAnswerMedianSeconds }) => humanAnswerMedianSeconds,
  },
  {
    name: 'Waiting now',
    unit: 'count',
    page: 'waiting',
    of: ({ backlog }) => backlog.waitingAtEnd,
  },
  {
    name: 'Open now',
    unit: 'count',
    page: 'open',
    of: ({ backlog }) => backlog.openAtEnd,
    ofDay: ({ openAtEnd }) => openAtEnd,
  },
  {
    name: 'Handled',
    unit: 'count',
    page: 'charts',
    of: ({ backlog }) => backlog.handlings,
    ofDay: ({ handlings }) => handlings,
  },
  {
    name: 'AI only, of those with the AI',
    unit: 'share',
    page: 'ai',
    of: ({ ai }) => ai.aiOnlyShare,
  },
]

/** `data` null: it is still being counted; a text: why it cannot be. */
export function weekSection(
  data: Awaited<ReturnType<ConsoleReads['week']>> | string,
  present: PresentNumbers,
  frame: ProjectFrame,
): Html {
  const read = typeof data === 'string' ? null : (data?.report ?? null)
  const week = read?.period.whole == null ? null : read
  const missing =
    data === null
      ? html`The numbers of the last 7 days are being counted.
        <a href="${addressOf(frame)}">Look again</a>`
      : typeof data === 'string'
        ? html`They cannot be counted: ${foreignText(data)}`
        : 'The numbers of days follow the first sync.'
  const list = html`<ul
    class="tiles">${tiles.map((tile) => tileOf(tile, week, present, frame))}</ul>`
  return section(
    'The last 7 days',
    html`<p class="faint">${week === null ? missing : daysText(week)}</p>${list}`,
    html`<a href="${withQuery(addressOf(frame, 'waits'), daysOf(week))}">Who waited longest</a>`,
  )
}

/** Why the days before are not compared. */
const aboutBefore = ['no period before', 'period before not whole', 'history before the mirror']

function daysText({ period, uncertainties }: Report): string {
  const days =
    `${period.from} to ${period.to}, the last that are over and read to ` +
    'their end, beside the 7 days before. A late answer still changes a past median.'
  return [
    days,
    ...uncertainties.flatMap(({ what, text }) => (aboutBefore.includes(what) ? [text] : [])),
  ].join(' ')
}

function tileOf(
  { name, of, ofDay, unit, page }: Tile,
  week: Report | null,
  present: PresentNumbers,
  frame: ProjectFrame,
): Html {
  const change = (week && of(week)) ?? null
  const now = page === 'open' || page === 'waiting' ? present[page] : null
  const days = now === null ? daysOf(week) : {}
  const title = html`<a href="${withQuery(addressOf(frame, page), days)}">${name}</a>`
  const value = now?.count ?? formatValue(change?.value ?? null, unit)
  const firstDay = week?.days[0]
  const aWeekAgo = (page === 'open' ? firstDay?.openAtEnd : firstDay?.waitingAtEnd) ?? null
  const before = `${formatValue(aWeekAgo, unit)} a week ago, at the end of the day`
  const compared =
    now === null
      ? changeText(change, unit)
      : html`${now.more ?? nothing}${now.more === null || aWeekAgo === null ? '' : '; '}${aWeekAgo === null ? '' : before}`
  const line = week === null || ofDay === undefined ? nothing : sparkline(week.days.map(ofDay))
  return html`<li><p>${title}</p><p class="value">${value}</p>${line}<p
    class="faint">${compared}</p></li>\n`
}

function daysOf(week: Report | null) {
  return week === null ? {} : { from: week.period.from, to: week.period.to }
}

function changeText(change: Change | null, unit: Tile['unit']): string {
  if (change === null || change.before === null) return ''
  const before = `${formatValue(change.before, unit)} before`
  return change.comparison === 'before not whole'
    ? before
    : `${before}, ${formatChange(change, unit)}`
}

/** From zero. The numbers are in the charts, so nobody reads it aloud. */
function sparkline(values: readonly (number | null)[]): Html {
  const max = Math.max(...values.map((value) => value ?? 0)) || 1
  const path = values.map((value, n) => {
    if (value === null) return ''
    const at = `${n * 20} ${(30 - (28 * value) / max).toFixed(1)}`
    // A day between two without a number is a dot.
    return n === 0 || values[n - 1] == null ? `M${at}h0` : `L${at}`
  })
  return html`<svg class="sparkline" viewBox="-2 0 124 32" preserveAspectRatio="none"
    aria-hidden="true"><path class="line first" d="${path.join('')}"></path></svg>`
}
