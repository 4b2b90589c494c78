/** The conversations behind a bar, a cell or a number of a page about a period. */
import type { PeriodTable, PeriodTableName } from '../../analytics/analytics.ts'
import { parseDate } from '../../analytics/core/report-period.ts'
import { periodTables } from '../../analytics/views/period-tables.ts'
import { pluralize } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import { addressOf, facts, linkTo, older, table } from '../blocks.ts'
import { choosePeriod, keepPeriod } from '../core/period.ts'
import type { Page } from '../layout.ts'
import { digitsOf, type ScreenRequest, visibleTo } from '../screen.ts'
import { conversationsPerPage, readCountedConversations } from '../sql/counted-conversations.ts'
import { foreignText, timeOf, todayOf } from '../text.ts'
import { keyText } from './period-tables.ts'

export async function showCountedConversations({ db, frame, query }: ScreenRequest): Promise<Page | null> {
  const name = query('of') ?? ''
  if (!Object.hasOwn(periodTables, name)) return null
  const of = name as PeriodTableName
  const asked: PeriodTable = periodTables[of]
  const period = choosePeriod(query, todayOf(frame))
  const day = parseDate(query('on') ?? '') ?? null
  const range = day === null ? period : { from: day, to: day }
  const series = query('count')
  const columns = asked.key.filter((column) => column !== 'date' && column !== 'agent_name')
  const chosen = columns.flatMap((column) => {
    const value = query(column)
    return value === null ? [] : [[column, value] as const]
  })
  const filter = {
    from: range.from,
    to: range.to,
    agent: period.agent,
    table: of,
    series,
    key: Object.fromEntries(chosen),
  }
  const offset = Number(digitsOf(query('after')) ?? 0)
  const found = await readCountedConversations(db, filter, offset)
  if (found === null) return null
  const { rows, total } = visibleTo(frame, found)
  const counted = series === null ? undefined : asked.chart.series[series]
  const list = table(
    'Conversations, the newest first',
    ['Last message', 'Visitor', 'Status', 'Last agent', '#Messages'],
    rows.map(({ id, name, email, lastAt, handledAt, agent, messages }) => [
      linkTo(frame, 'conversations', id, lastAt === null ? foreignText(id) : timeOf(lastAt, frame)),
      foreignText(name ?? email),
      handledAt === null ? 'open' : 'handled',
      foreignText(agent),
      String(messages),
    ]),
    'There are none: a number may have changed since it was counted.',
  )
  const next = offset + conversationsPerPage
  const more = keepPeriod(addressOf(frame, 'conversations'), period, {
    ...{ of, count: series, on: day, ...Object.fromEntries(chosen), after: String(next) },
  })
  const content = html`${facts([
    ['Found', pluralize(total, 'conversation')],
    ['Of', html`<a href="${keepPeriod(addressOf(frame, of), period)}">${asked.title}</a>`],
    ['Counted', counted === undefined ? null : counted.title],
    [day === null ? 'Days' : 'Day', range.from === range.to ? range.from : `${range.from} to ${range.to}`],
    ['Agent', period.agent === null ? null : foreignText(period.agent)],
    ...chosen.map(([column, value]) => [asked.columns[column] ?? column, keyText(column, value)] as const),
  ])}
<p class="faint">Each conversation is here once, also if the number counts it several times.</p>${list}
${older(next < total ? more : null)}`
  return { title: 'Conversations', section: asked.title, content, kept: period.query }
}
