/** The sections about how much came in, and what is left of it. */

import { type Block, columns, type Section, section } from '../../document/page.ts'
import { formatCount, timeText } from '../../values/format.ts'
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
  const values = days.map(({ waits }) => waits)
  const description = `How often visitors began to wait on each day: ${describeRange(values)}.`
  const series = [{ name: 'waits', values }]
  return {
    kind: 'chart',
    chart: {
      ...byDay(days),
      kind: 'bars',
      title: 'Waits by day',
      description,
      unit: 'waits',
      series,
    },
    table: {
      caption: 'Day by day',
      columns: columns(
        ['Day', ''],
        ['Conversations started', 'Waits', 'Median until a human answered'],
      ),
      rows: days.map(({ date, weekday, started, waits, humanAnswerMedianSeconds, isWhole }) => [
        dayText(date, isWhole),
        weekdays[weekday - 1] ?? '',
        formatCount(started),
        formatCount(waits),
        formatValue(humanAnswerMedianSeconds, 'seconds'),
      ]),
    },
  }
}

function byDay(days: readonly Day[]) {
  const unfinishedFrom = days.findIndex(({ isWhole }) => !isWhole)
  const axis = { labelUnit: 'day', ...(unfinishedFrom < 0 ? {} : { unfinishedFrom }) }
  return { ...axis, labels: days.map(({ date }) => date) }
}

function dayText(date: string, isWhole: boolean): string {
  return isWhole ? date : `${date} (so far)`
}

/** In the table hours are rows, as a page is higher than wide. */
function waitsByHour(rows: Report['hours']): Block {
  const values = weekdays.map((_, index) =>
    hours.map(
      (_, hour) => rows.find((row) => row.weekday === index + 1 && row.hour === hour)?.waits ?? 0,
    ),
  )
  const title = 'Waits by weekday and hour'
  const description =
    'How often visitors began to wait in each local hour: ' +
    `${describeRange(values.flat())} an hour.`
  return {
    kind: 'chart',
    chart: {
      kind: 'heat map',
      title,
      description,
      rows: weekdays,
      columns: hours,
      columnUnit: 'hour',
      values,
    },
    table: {
      caption: title,
      columns: columns(['Hour'], weekdays),
      rows: hours.map((hour, index) => [
        `${hour}:00`,
        ...values.map((row) => formatCount(row[index] ?? 0)),
      ]),
    },
  }
}

function describeRange(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(formatCount)
  return least === most ? `always ${most}` : `from ${least} to ${most}`
}

export function backlogSection({
  backlog,
  days,
  timeZone,
  waitingNow: { open, waiting, longest },
}: Report): Section {
  const table = changeTable('The backlog and what changed it', [
    ['Opened', backlog.opened, 'count'],
    ['Reopenings', backlog.reopenings, 'count'],
    ['Handlings', backlog.handlings, 'count'],
    ['Open at the end', backlog.openAtEnd, 'count'],
    ['Waiting for an answer at the end', backlog.waitingAtEnd, 'count'],
  ])
  const now = `Now ${formatCount(open)} open, ${formatCount(waiting)} waiting for an answer.`
  const waitingTable = {
    caption:
      waiting > longest.length ? `The ${longest.length} who wait longest` : 'Who is waiting now',
    columns: columns(
      ['Visitor', 'Conversation', 'Assigned', 'Since', 'By the service'],
      ['Waits for'],
    ),
    rows: longest.map(
      ({
        conversationId,
        visitorName,
        agent,
        waitingSince,
        waitingSeconds,
        serviceWaitingSince,
      }) => [
        visitorName ?? '–',
        conversationId,
        agent ?? '–',
        timeText(waitingSince, timeZone),
        serviceWaitingSince === waitingSince
          ? 'the same'
          : timeText(serviceWaitingSince, timeZone, 'not waiting'),
        formatValue(waitingSeconds, 'seconds'),
      ],
    ),
  }
  return section(
    'Backlog',
    table,
    backlogByDay(days),
    now,
    ...(longest.length === 0 ? [] : [waitingTable]),
  )
}

function backlogByDay(days: readonly Day[]): Block {
  const open = days.map(({ openAtEnd }) => openAtEnd)
  const known = open.filter((value) => value !== null)
  const title = 'Backlog at the end of each day'
  const range = known.length === 0 ? 'not known' : describeRange(known)
  const description = `Open conversations: ${range}. Waiting visitors are the lower line.`
  const series = [
    { name: 'open', values: open },
    { name: 'waiting', values: days.map(({ waitingAtEnd }) => waitingAtEnd) },
  ]
  return {
    kind: 'chart',
    chart: { ...byDay(days), kind: 'lines', title, description, unit: 'conversations', series },
    table: {
      caption: title,
      columns: columns(['Day'], ['Handlings', 'Open', 'Waiting']),
      rows: days.map(({ date, handlings, openAtEnd, waitingAtEnd, isWhole }) => [
        dayText(date, isWhole),
        ...[handlings, openAtEnd, waitingAtEnd].map((value) => formatValue(value, 'count')),
      ]),
    },
  }
}
