/**
 * The report as a page: the document that `deskmirror report` writes, with its period chosen here.
 */
import { chooseReportPeriod } from '../../analytics/core/report-period.ts'
import { reportPage } from '../../analytics/report/report-page.ts'
import { renderHtml, renderMarkdown, renderSections } from '../../document/page.ts'
import { datePartsOf, dateText, dayNumber } from '../../values/days.ts'
import { html } from '../../values/html.ts'
import type { LocalDate } from '../../values/time.ts'
import { addressOf } from '../blocks.ts'
import { choosePeriod, keepPeriod } from '../core/period.ts'
import type { ConsolePage } from '../frame.ts'
import { countingNotice, periodForm } from '../period-blocks.ts'
import { type FileAnswer, type ScreenRequest, visibleTo } from '../screen.ts'
import { todayOf } from '../text.ts'

const formats = { html: 'text/html', md: 'text/markdown' } as const

export async function showReport({
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<ConsolePage | FileAnswer> {
  const today = todayOf(frame)
  const period = choosePeriod(query, today)
  const range = period.query.from === null ? {} : { from: period.from, to: period.to }
  const counted = await reads.report(project, range)
  const report = counted?.report ?? null
  const known =
    report === null ? null : { ...report, waitingNow: visibleTo(frame, report.waitingNow) }
  const page = known && reportPage([known])
  const format = query('format')
  if (page !== null && (format === 'html' || format === 'md')) {
    const content = Buffer.from(format === 'html' ? renderHtml(page) : renderMarkdown(page))
    const name = `report-${known?.period.from}-${known?.period.to}.${format}`
    return { file: { name, type: `${formats[format]}; charset=utf-8`, content } }
  }
  const address = addressOf(frame, 'report')
  const spans = Object.entries(reportSpans(today)).map(([label, dates]) => ({
    label,
    to: keepPeriod(address, period, dates),
    isChosen: dates.from === (range.from ?? null) && dates.to === (range.to ?? null),
  }))
  const { from, to } = known?.period ?? chooseReportPeriod(range, today)
  const form = periodForm({
    frame,
    period: { ...period, from, to },
    path: 'report',
    agents: null,
    spans,
  })
  const [part] = page?.parts ?? []
  const missing =
    counted === null
      ? countingNotice(keepPeriod(address, period))
      : html`<p class="empty">There are no numbers yet: they follow the first sync.</p>`
  const downloads = Object.entries({ HTML: 'html', Markdown: 'md' }).map(
    ([label, kind]) =>
      html`<a class="button" href="${keepPeriod(address, period, { format: kind })}">Download as
        ${label}</a>`,
  )
  downloads.unshift(
    html`<a class="button" href="${keepPeriod(addressOf(frame, 'waits'), period, {
      from,
      to,
    })}">Who waited longest</a>`,
  )
  const content = html`${form}${
    part === undefined
      ? missing
      : html`<div
    class="title"><h2>${part.title}</h2><span
    class="actions">${downloads}</span></div>${renderSections(part, 'cards')}`
  }`
  return { title: 'Report', section: 'Report', content, kept: period.query }
}

/** Whole weeks and months. Null: what the command shows without dates. */
function reportSpans(
  today: LocalDate,
): Readonly<Record<string, Readonly<Record<'from' | 'to', LocalDate | null>>>> {
  const { week, month } = datePartsOf(dayNumber(today))
  const last = dateText(dayNumber(month) - 1)
  return {
    'Last week': { from: null, to: null },
    'This week': { from: week, to: today },
    'Last month': { from: datePartsOf(dayNumber(last)).month, to: last },
    'This month': { from: month, to: today },
  }
}
