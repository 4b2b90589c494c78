/** The conversations behind a bar, a cell or a number of a page about a period. */
import type { PeriodTable, PeriodTableName } from '../../analytics/analytics.ts'
import { parseDate } from '../../analytics/core/report-period.ts'
import { periodTables } from '../../analytics/views/period-pages.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { addressOf, facts, linkTo, older, table } from '../blocks.ts'
import { choosePeriod, keepPeriod } from '../core/period.ts'
import type { Page, ProjectFrame } from '../frame.ts'
import { countingNotice } from '../period-blocks.ts'
import { digitsOf, type ScreenRequest, visibleTo } from '../screen.ts'
import { type CountedConversation, conversationsPerPage } from '../sql/counted-conversations.ts'
import { foreignText, timeOf, todayOf } from '../text.ts'
import { keyText } from './period-page.ts'

export async function showCountedConversations({ reads, project, frame, query }: ScreenRequest): Promise<Page | null> {
  const of = (query('of') ?? '') as PeriodTableName
  if (!Object.hasOwn(periodTables, of)) return null
  const { title, key, columns, id }: PeriodTable = periodTables[of]
  if (typeof id === 'object') return null
  const period = choosePeriod(query, todayOf(frame))
  const on = parseDate(query('on') ?? '') ?? null
  const range = on === null ? { from: period.from, to: period.to } : { from: on, to: on }
  const column = query('count')
  const chosen = key.flatMap((name) => {
    const value = name === 'date' || name === 'agent_name' ? null : query(name)
    return value === null ? [] : [[name, value] as const]
  })
  const values = Object.fromEntries(chosen)
  const filter = { ...range, agent: period.agent, table: of, column, key: values }
  const offset = Number(digitsOf(query('after')) ?? 0)
  const found = await reads.countedConversations(project, filter, offset)
  const listAt = (after: number) =>
    keepPeriod(addressOf(frame, 'conversations'), period, {
      ...{ of, count: column, on, ...values, after: after === 0 ? null : String(after) },
    })
  const next = offset + conversationsPerPage
  const content = html`${facts([
    ['Found', found && pluralize(found.total, 'conversation')],
    ['Of', html`<a href="${keepPeriod(addressOf(frame, of), period)}">${title}</a>`],
    ['Counted', column && (columns[column] ?? column.replaceAll('_', ' '))],
    [on === null ? 'Days' : 'Day', html`<time>${on ?? `${range.from} to ${range.to}`}</time>`],
    ['Agent', period.agent && foreignText(period.agent)],
    ...chosen.map(([name, value]) => [columns[name] ?? name, keyText(name, value)] as const),
  ])}
<p class="faint">${id === 'visitor_id' ? ofCallers : 'Each conversation is here once, also if the number counts it several times.'}</p>
${found === null ? countingNotice(listAt(offset)) : listOf(visibleTo(frame, found.rows), frame)}
${older(found !== null && next < found.total ? listAt(next) : null)}`
  return { title: 'Conversations', section: title, content, kept: period.query }
}

const ofCallers = 'All conversations of the visitors of these calls, of any day: no call says which it belongs to.'

function listOf(rows: readonly CountedConversation[], frame: ProjectFrame): Html {
  return table(
    'Conversations, the newest first',
    ['Visitor', 'Last message', 'Status', 'Last agent', '#Messages'],
    rows.map(({ id, name, email, lastAt, handledAt, agent, messages }) => [
      linkTo(frame, 'conversations', id, foreignText(name ?? email ?? id)),
      timeOf(lastAt, frame),
      handledAt === null ? 'open' : 'handled',
      foreignText(agent),
      formatCount(messages),
    ]),
    'There are none: a number may have changed since it was counted.',
  )
}
