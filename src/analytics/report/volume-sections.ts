/** The sections about how much came in, what is left of it, and whether the service counts the same. */

import type { HeatMap } from '../../document/chart.ts'
import { type Block, number, type Section, section, type Table, text } from '../../document/page.ts'
import { formatCount } from '../../values/format.ts'
import { changeTable, formatValue } from './change.ts'
import type { Day, Report } from './report.ts'

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))

export function volumeSection({ volume, days, hours: hourRows }: Report): Section {
  const table = changeTable('What came in, and who answered', [
    ['Conversations started', volume.conversationsStarted, 'count'],
    ['Waits: a visitor wrote and had no answer', volume.waits, 'count'],
    ['… answered by a human', volume.answeredByHuman, 'count'],
    ['… answered by the AI', volume.answeredByAi, 'count'],
    ['… closed without an answer', volume.closedWithoutAnswer, 'count'],
    ['… not answered yet', volume.ongoingWaits, 'count'],
    ['Messages of visitors', volume.visitorMessages, 'count'],
    ['Messages of humans', volume.humanMessages, 'count'],
    ['Messages of the AI', volume.aiMessages, 'count'],
  ])
  return section('Volume', table, waitsByDay(days), waitsByHour(hourRows))
}

function waitsByDay(days: readonly Day[]): Block {
  const bars = days.map(({ date, waits }) => ({ label: date, value: waits }))
  return {
    kind: 'chart',
    chart: {
      kind: 'bars',
      name: 'waits',
      title: 'Waits by day',
      description: `How often visitors began to wait on each day: ${describeRange(bars.map(({ value }) => value))}.`,
      bars,
    },
    table: {
      caption: 'Day by day',
      columns: [
        ...[text('Day'), text(''), number('Conversations started'), number('Waits')],
        number('Median until a human answered'),
      ],
      rows: days.map(({ date, weekday, started, waits, humanAnswerMedianSeconds }) => [
        ...[date, weekdays[weekday - 1] ?? '', formatCount(started), formatCount(waits)],
        formatValue(humanAnswerMedianSeconds, 'seconds'),
      ]),
    },
  }
}

function waitsByHour(rows: Report['hours']): Block {
  const values = weekdays.map((_, index) =>
    hours.map((_, hour) => rows.find((row) => row.weekday === index + 1 && row.hour === hour)?.waits ?? 0),
  )
  const map = {
    title: 'Waits by weekday and hour',
    description: `How often visitors began to wait in each local hour: ${describeRange(values.flat())} an hour.`,
    rows: weekdays,
    columns: hours,
    values,
  }
  return { kind: 'chart', chart: { kind: 'heat map', ...map }, table: heatMapTable(map.title, map) }
}

/** Hours as rows, as a page is higher than wide. */
function heatMapTable(title: string, { rows, columns, values }: HeatMap): Table {
  return {
    caption: title,
    columns: [text('Hour'), ...rows.map(number)],
    rows: columns.map((hour, index) => [`${hour}:00`, ...values.map((row) => formatCount(row[index] ?? 0))]),
  }
}

function describeRange(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(formatCount)
  return least === most ? `always ${most}` : `from ${least} to ${most}`
}

export function backlogSection({ backlog, days, waitingNow }: Report): Section {
  const table = changeTable('The backlog and what changed it', [
    ['Opened', backlog.opened, 'count'],
    ['Reopenings', backlog.reopenings, 'count'],
    ['Handlings', backlog.handlings, 'count'],
    ['Open at the end', backlog.openAtEnd, 'count'],
    ['Waiting for an answer at the end', backlog.waitingAtEnd, 'count'],
  ])
  return section('Backlog', table, backlogByDay(days), ...waitingParts(waitingNow))
}

function backlogByDay(days: readonly Day[]): Block {
  const open = days.map(({ openAtEnd }) => openAtEnd)
  const known = open.filter((value) => value !== null)
  const range = known.length === 0 ? 'not known' : describeRange(known)
  return {
    kind: 'chart',
    chart: {
      kind: 'lines',
      title: 'Backlog at the end of each day',
      description: `Open conversations: ${range}. Waiting visitors are the lower line.`,
      labels: days.map(({ date }) => date),
      lines: [
        { name: 'open', values: open },
        { name: 'waiting', values: days.map(({ waitingAtEnd }) => waitingAtEnd) },
      ],
    },
    table: {
      caption: 'Backlog at the end of each day',
      columns: [text('Day'), number('Handlings'), number('Open'), number('Waiting')],
      rows: days.map(({ date, handlings, openAtEnd, waitingAtEnd }) => [
        ...[date, formatCount(handlings), formatValue(openAtEnd, 'count'), formatValue(waitingAtEnd, 'count')],
      ]),
    },
  }
}

function waitingParts({ open, waiting, longest }: Report['waitingNow']): (string | Table)[] {
  const summary = `Now ${formatCount(open)} open, ${formatCount(waiting)} waiting for an answer.`
  if (longest.length === 0) return [summary]
  const rows = longest.map(({ conversationId, visitorName, agent, waitingSince, waitingSeconds }) => [
    ...[visitorName ?? '–', conversationId, agent ?? '–', waitingSince, formatValue(waitingSeconds, 'seconds')],
  ])
  const columns = [text('Visitor'), text('Conversation'), text('Agent'), text('Since'), number('Waits for')]
  const caption = waiting > longest.length ? `The ${longest.length} who wait longest` : 'Who is waiting now'
  return [summary, { caption, columns, rows }]
}

/** Empty if no rollup of the period is mirrored. */
export function rollupSection({ rollup }: Report): Section[] {
  if (rollup.length === 0) return []
  const table: Table = {
    caption: "The service's numbers beside ours: on how many days of the period they agree",
    columns: [
      ...[text('Number'), text('Number of ours'), number('Days equal'), number('Different')],
      ...[number('Largest difference'), number('Not final'), number('Not compared')],
    ],
    rows: rollup.map((row) => [
      row.metric,
      row.definition ?? 'none of ours',
      formatCount(row.equal),
      formatCount(row.different),
      formatValue(row.largestDifference, 'count'),
      formatCount(row.notFinal),
      formatCount(row.notCompared),
    ]),
  }
  return [section("The service's own numbers", table)]
}
