/** The waits that went on in a period, the longest first, answered or not, and as a file. */
import { formatSeconds, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import {
  addressOf,
  choices,
  conversationCell,
  older,
  section,
  smallPrint,
  table,
} from '../blocks.ts'
import { choosePeriod, keepPeriod } from '../core/period.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { countingNotice, daySpans, periodForm, unfinishedNote } from '../period-blocks.ts'
import { type FileAnswer, type ScreenRequest, visibleTo } from '../screen.ts'
import { type ListedWait, readWaits, waitEnds } from '../sql/waits.ts'
import { downloadLinks, listFile, parseForm, readAllPages } from '../table-file.ts'
import { foreignText, timeOf, todayOf } from '../text.ts'

const endWords: Readonly<Record<ListedWait['endedBy'], string>> = {
  human: 'Answered by a human',
  ai: 'Answered by the AI',
  handled: 'Closed without an answer',
  nobody: 'Not answered yet',
}

export async function showWaits({
  db,
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<ConsolePage | FileAnswer> {
  const period = choosePeriod(query, todayOf(frame))
  const ended = waitEnds.find((end) => end === query('ended')) ?? null
  const { from, to, agent } = period
  const filter = { from, to, agent, ended }
  const address = addressOf(frame, 'waits')
  const at = (more: Readonly<Record<string, string | null>>) =>
    keepPeriod(address, period, { ended, ...more })
  const file = parseForm(query)
  if (file !== null) {
    const whole = await reads.longDb(project)
    const rows = readAllPages(async (after, limit) =>
      visibleTo(frame, await readWaits(whole, filter, after, frame.now, limit)),
    )
    return listFile(`waits-${from}-${to}`, fileFields, rows, file)
  }
  const after = query('after')
  const [data, agents] = await Promise.all([
    reads.waits(project, filter, after),
    reads.agentNames(project, 'agents', period),
  ])
  const form = periodForm({
    frame,
    period,
    path: 'waits',
    spans: daySpans(frame, period, 'waits', null),
    agents: agents ?? [],
  })
  const ends = [null, ...waitEnds].map((end) => ({
    label: end === null ? 'All' : endWords[end],
    to: keepPeriod(address, period, { ended: end }),
    isChosen: end === ended,
  }))
  const content = html`${form}${choices('Ended', ends)}<p class="faint">All waits that went on in
  these days of ${frame.timeZone}, also those that began before; the other pages count a wait on the
  day on which it began. A wait ends with an answer by a human or the AI, or when the conversation
  is marked handled; nights and weekends count. A wait that is closed without an answer is often
  just a thank-you.
  ${agent === null ? nothing : html`Of ${foreignText(agent)}: waits that the agent answered.`}</p>${await unfinishedNote(db)}
${
  data === null
    ? countingNotice(at({ after }))
    : section(
        pluralize(data.total, 'wait'),
        listOf(visibleTo(frame, data.rows), frame),
        downloadLinks(at),
      )
}
${older(data?.next == null ? null : at({ after: data.next }), 'Shorter waits')}`
  return { title: 'Longest waits', section: 'Longest waits', content, kept: period.query }
}

function listOf(rows: readonly ListedWait[], frame: ProjectFrame): Html {
  return table(
    'Waits, the longest first',
    ['Visitor', '#Waited', 'Asked', 'Ended', '#Until a human'],
    rows.map((row) => [
      conversationCell(frame, row),
      html`${formatSeconds(row.seconds)}${row.endedBy === 'nobody' ? ' so far' : ''}`,
      timeOf(row.startedAt, frame),
      endText(row, frame),
      untilHuman(row),
    ]),
    'No wait of this period matches.',
  )
}

/** Also of a wait whose answer ends an earlier one, too, and counts for that. */
function untilHuman({ endedBy, seconds, humanSeconds }: ListedWait): string {
  const known = endedBy === 'human' ? seconds : humanSeconds
  return known === null ? '–' : formatSeconds(known)
}

function endText(
  { endedBy, endedAt, endedByName, isComplete }: ListedWait,
  frame: ProjectFrame,
): Html {
  const name = (endedByName ?? '') === '' ? nothing : html`: ${foreignText(endedByName)}`
  const at = endedAt === null ? nothing : html`, ${timeOf(endedAt, frame)}`
  const doubt = isComplete ? nothing : smallPrint('Not all of its messages are known.')
  return html`${endWords[endedBy]}${name}${at}${doubt}`
}

const fileFields = {
  conversation_id: 'id',
  wait_number: 'number',
  visitor_id: 'visitorId',
  visitor_name: 'name',
  visitor_email: 'email',
  started_at: 'startedAt',
  ended_at: 'endedAt',
  ended_by: 'endedBy',
  ended_by_name: 'endedByName',
  seconds: 'seconds',
  human_seconds: 'humanSeconds',
  assigned_agent_id: 'agent',
  is_complete: 'isComplete',
} as const
