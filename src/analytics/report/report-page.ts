/** The page of some reports: which numbers it shows, in which order, and in which words. */

import { columns, type Page, type PagePart, type Section, section } from '../../document/page.ts'
import { formatCount, pluralize, timeText } from '../../values/format.ts'
import type { ProjectName } from '../../values/project.ts'
import { periodTables } from '../views/all-period-pages.ts'
import { type ChangeLine, changeCells, changeTable, formatChange, formatValue } from './change.ts'
import type { Report } from './report.ts'
import { backlogSection, volumeSection } from './volume-sections.ts'

/** A project whose report could not be made. */
type FailedReport = { readonly project: ProjectName; readonly what: string; readonly why: string }

export function reportPage(reports: readonly (Report | FailedReport)[]): Page {
  const [first] = reports
  const names = reports.map(({ project }) => project).join(', ')
  const range = first !== undefined && 'period' in first ? `, ${rangeText(first.period)}` : ''
  return { title: `Report of ${names}${range}`, parts: reports.map(partOf) }
}

function partOf(report: Report | FailedReport): PagePart {
  if (!('period' in report)) {
    const { project, what, why } = report
    return {
      title: project,
      notes: [`There is no report of this project: ${what}: ${why}.`],
      sections: [],
    }
  }
  return {
    title: `${report.project}: ${rangeText(report.period)}`,
    notes: notesOf(report),
    sections: [
      overviewSection(report),
      volumeSection(report),
      responseTimesSection(report),
      backlogSection(report),
      aiSection(report),
      agentsSection(report),
      callsSection(report),
      targetsSection(report),
      uncertaintySection(report),
    ],
  }
}

function rangeText({ from, to, isoWeek }: Report['period']): string {
  const days = from === to ? from : `${from} to ${to}`
  return isoWeek === null ? days : `${days} (week ${isoWeek})`
}

function notesOf({ period, before, timeZone, asOf, generatedAt, volume, calls }: Report): string[] {
  const isEmpty = !volume.conversationsStarted.value && !volume.waits.value && !calls?.calls.value
  return [
    ...(isEmpty ? ['Nothing was counted in this period.'] : []),
    `${comparisonText(period, before)} Days and times are those of ${timeZone}.`,
    `As of ${timeText(asOf, timeZone, 'no complete sync yet')}. Written at ` +
      `${timeText(generatedAt, timeZone)}.`,
  ]
}

function comparisonText({ to, whole }: Report['period'], before: Report['before']): string {
  if (whole === null)
    return 'No day of the period is over and read to its end, so nothing is compared.'
  if (whole.to === to) return `Compared with the days before, ${before.from} to ${before.to}.`
  return (
    `Numbers are those of the days that are over and read to their end, ${whole.from} to ` +
    `${whole.to}, compared with ${before.from} to ${before.to}; charts mark the others.`
  )
}

function overviewSection({ volume, responseTimes, backlog, ai, calls }: Report): Section {
  const medianOf = (name: string, label: string) =>
    responseTimes
      .filter(({ which, clock, hours }) => `${which} ${clock} ${hours}` === `${name} human all`)
      .map(({ medianSeconds }) => [label, medianSeconds, 'seconds'] as const)
  const lines: ChangeLine[] = [
    ['Conversations started', volume.conversationsStarted, 'count'],
    ['Waits of visitors', volume.waits, 'count'],
    ...medianOf('every', 'Until a human answered, median'),
    ...medianOf('first', 'First human response, median'),
    ['Open at the end', backlog.openAtEnd, 'count'],
    ['Waiting at the end', backlog.waitingAtEnd, 'count'],
    ['AI only, of the conversations with the AI', ai.aiOnlyShare, 'share'],
    ...(calls === null ? [] : [['Calls', calls.calls, 'count'] as const]),
  ]
  return section('At a glance', changeTable('The most important numbers', lines))
}

function responseTimesSection({ responseTimes }: Report): Section {
  const hasBusinessHours = responseTimes.some(({ hours }) => hours === 'business')
  const about =
    'Medians and percentiles of all answered waits of complete conversations in the ' +
    'period; a late answer still changes those of past days. A wait begins with the first ' +
    'message of the visitor that has no answer.'
  const hours = hasBusinessHours ? '' : ' No business hours are set, so all hours count.'
  const compared = ['Median', 'Before', 'Change', '90 % within', 'Before', 'Change']
  return section('Response times', about + hours, {
    caption: 'Response times by the day on which the visitors asked',
    columns: columns(['Wait', 'Until', 'Hours'], ['Answers', ...compared]),
    rows: responseTimes.map((row) => [
      row.which === 'first' ? 'first answered of a conversation' : 'every',
      row.clock === 'human' ? 'a human answers' : 'a human or the AI answers',
      row.hours,
      formatValue(row.answers.value, 'count'),
      ...changeCells(row.medianSeconds, 'seconds'),
      ...changeCells(row.p90Seconds, 'seconds'),
    ]),
  })
}

function aiSection({ ai }: Report): Section {
  const lines: ChangeLine[] = [
    ['Conversations in which the AI wrote', ai.withAi, 'count'],
    ['… of all conversations', ai.withAiShare, 'share'],
    ['AI only: no human wrote', ai.aiOnly, 'count'],
    ['… of those with the AI', ai.aiOnlyShare, 'share'],
    ['Handed over: a human wrote, too', ai.handedOver, 'count'],
    ['… of those with the AI', ai.handedOverShare, 'share'],
  ]
  const note = 'That no human wrote does not say that the visitor was helped.'
  return section(
    'AI',
    changeTable('The part of the AI in the conversations that started', lines),
    note,
  )
}

/** Those with the most messages; the JSON document has all. */
const maxAgents = 20

function agentsSection({ agents }: Report): Section {
  const { title, empty, columns: titles } = periodTables.agents
  if (agents.length === 0) return section(title, empty)
  const table = {
    caption: 'Agents by the name on their messages',
    columns: columns(
      [titles.agent_name],
      [
        titles.messages,
        'Change',
        titles.conversations,
        titles.answers,
        titles.answer_median_seconds,
        titles.answer_p90_seconds,
      ],
    ),
    rows: agents
      .slice(0, maxAgents)
      .map(({ name, messages, conversations, answers, medianSeconds, p90Seconds }) => [
        name === '' ? '(no name)' : name,
        formatValue(messages.value, 'count'),
        formatChange(messages, 'count'),
        ...[conversations, answers].map(({ value }) => formatValue(value, 'count')),
        ...[medianSeconds, p90Seconds].map(({ value }) => formatValue(value, 'seconds')),
      ]),
  }
  const more = agents.length - maxAgents
  return section(title, table, ...(more > 0 ? [`And ${pluralize(more, 'more agent')}.`] : []))
}

function callsSection({ calls }: Report): Section {
  if (calls === null) return section('Calls', 'Calls are not mirrored, or not read yet.')
  const table = changeTable('Calls by the day on which they started', [
    ['Calls', calls.calls, 'count'],
    ['Different callers that are known', calls.callers, 'count'],
    ['With a recording', calls.withRecording, 'count'],
    ['Of known length', calls.withLength, 'count'],
    ['Total length of these', calls.seconds, 'seconds'],
    ['Median length of these', calls.medianSeconds, 'seconds'],
  ])
  return section('Calls', table)
}

function targetsSection({ targets }: Report): Section {
  const { title, empty, columns: titles } = periodTables.targets
  if (targets.length === 0) return section(title, empty)
  const { sla, hours: hoursTitle, met_share: share, ...counted } = titles
  return section(title, {
    caption: 'Targets by the day on which the visitors asked',
    columns: columns([sla, hoursTitle], [...Object.values(counted), share, 'Before', 'Change']),
    rows: targets.map(
      ({ name, hours, targetSeconds, waits, met, missed, open, without, metShare }) => [
        name,
        hours,
        formatValue(targetSeconds, 'seconds'),
        ...[waits, met, missed, open, without].map(({ value }) => formatCount(value ?? 0)),
        ...changeCells(metShare, 'share'),
      ],
    ),
  })
}

function uncertaintySection({ uncertainties }: Report): Section {
  const items = uncertainties.map(({ text }) => text)
  const nothing = 'Nothing: all rows are known, complete and up to date.'
  return section('What is not certain', items.length === 0 ? nothing : { kind: 'list', items })
}
