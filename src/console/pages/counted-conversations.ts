/** The conversations behind a bar, a cell or a number of a page about a period. */
import type { PeriodTable, PeriodTableName } from '../../analytics/analytics.ts'
import { parseDate } from '../../analytics/core/report-period.ts'
import { periodTables } from '../../analytics/views/all-period-pages.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { addressOf, conversationCell, facts, older, section, table } from '../blocks.ts'
import { digitsOf } from '../core/list-page.ts'
import { choosePeriod, keepPeriod } from '../core/period.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { countingNotice } from '../period-blocks.ts'
import { type FileAnswer, type ScreenRequest, visibleTo } from '../screen.ts'
import { readCountedConversations } from '../sql/counted-conversations.ts'
import { downloadLinks, listFile, parseForm, readAllPages } from '../table-file.ts'
import { foreignText, timeOf, todayOf } from '../text.ts'
import { keyText } from './render-period-page.ts'

export async function showCountedConversations({
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<ConsolePage | FileAnswer | null> {
  const of = (query('of') ?? '') as PeriodTableName
  if (!Object.hasOwn(periodTables, of)) return null
  const { title, key, columns, id }: PeriodTable = periodTables[of]
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
  const form = parseForm(query)
  if (form !== null) {
    const db = await reads.longDb(project)
    const rows = readAllPages(async (after, limit) =>
      visibleTo(frame, await readCountedConversations(db, filter, after, limit)),
    )
    return listFile(`conversations-${range.from}-${range.to}`, fileFields, rows, form)
  }
  const after = digitsOf(query('after'))
  const found = await reads.countedConversations(project, filter, after)
  const addressWith = (more: Readonly<Record<string, string | null>>) =>
    keepPeriod(addressOf(frame, 'conversations'), period, {
      of,
      count: column,
      on,
      ...values,
      ...more,
    })
  const content = html`${facts([
    ['Of', html`<a href="${keepPeriod(addressOf(frame, of), period)}">${title}</a>`],
    ['Counted', column && (columns[column] ?? column.replaceAll('_', ' '))],
    ['Day', on && html`<time>${on}</time>`],
    ['Days', on === null ? html`<time>${range.from}</time> to <time>${range.to}</time>` : null],
    ['Agent', period.agent && foreignText(period.agent)],
    ...chosen.map(([name, value]) => [columns[name] ?? name, keyText(name, value)] as const),
  ])}
<p class="faint">${id === 'visitor_id' ? ofCallers : 'Each conversation is here once, also if the number counts it several times.'}</p>
${found === null ? countingNotice(addressWith({ after })) : listOf(visibleTo(frame, found), downloadLinks(addressWith), frame)}
${older(found?.next == null ? null : addressWith({ after: found.next }))}`
  return { title: 'Conversations', section: title, content, kept: period.query }
}

const ofCallers =
  'All conversations of the visitors of these calls, of any day: no call says which it belongs to.'

const fileFields = {
  conversation_id: 'id',
  visitor_name: 'name',
  visitor_email: 'email',
  last_utterance_at: 'lastAt',
  handled_at: 'handledAt',
  last_human_name: 'agent',
  messages: 'messages',
} as const

function listOf(
  { rows, total }: Awaited<ReturnType<typeof readCountedConversations>>,
  downloads: Html,
  frame: ProjectFrame,
): Html {
  const list = table(
    'Conversations, the newest first',
    ['Visitor', 'Last message', 'Status', 'Last agent', '#Messages'],
    rows.map(({ lastAt, handledAt, agent, messages, ...row }) => [
      conversationCell(frame, row),
      timeOf(lastAt, frame),
      handledAt === null ? 'open' : 'handled',
      foreignText(agent),
      formatCount(messages),
    ]),
    'There are none: a number may have changed since it was counted.',
  )
  return total === 0 ? list : section(pluralize(total, 'conversation'), list, downloads)
}
