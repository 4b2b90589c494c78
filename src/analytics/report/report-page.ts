/** The page of some reports: which numbers it shows, in which order, and in which words. */

import { number, type Page, type PagePart, type Section, section, type Table, text } from '../../document/page.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import type { ProjectName } from '../../values/project.ts'
import { type ChangeLine, changeTable, formatChange, formatValue } from './change.ts'
import type { Report, ResponseTime } from './report.ts'
import { backlogSection, rollupSection, volumeSection } from './volume-sections.ts'

/** A project whose report could not be made. */
export type FailedReport = { readonly project: ProjectName; readonly what: string; readonly why: string }

export function reportPage(reports: readonly (Report | FailedReport)[]): Page {
  const [first] = reports
  const names = reports.map(({ project }) => project).join(', ')
  const range = first !== undefined && 'period' in first ? `, ${rangeText(first.period)}` : ''
  return { title: `Report of ${names}${range}`, parts: reports.map(partOf) }
}

function partOf(report: Report | FailedReport): PagePart {
  if (!('period' in report)) {
    const { project, what, why } = report
    return { title: project, notes: [`There is no report of this project: ${what}: ${why}.`], sections: [] }
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
      ...rollupSection(report),
      uncertaintySection(report),
    ],
  }
}

function rangeText({ from, to, isoWeek }: Report['period']): string {
  const days = from === to ? from : `${from} to ${to}`
  return isoWeek === null ? days : `${days} (week ${isoWeek})`
}

function notesOf({ before, timeZone, asOf, generatedAt, volume, calls }: Report): string[] {
  const isEmpty = !volume.conversationsStarted.value && !volume.waits.value && !calls?.calls.value
  return [
    ...(isEmpty ? ['Nothing was counted in this period.'] : []),
    `Compared with the days before, ${before.from} to ${before.to}. Days are those of ${timeZone}.`,
    `As of ${asOf ?? 'no complete sync yet'}. Written at ${generatedAt}.`,
  ]
}

function overviewSection({ volume, responseTimes, backlog, ai, calls }: Report): Section {
  const first = responseTimes.find(({ which, clock, hours }) => `${which} ${clock} ${hours}` === 'first human all')
  const lines: ChangeLine[] = [
    ['Conversations started', volume.conversationsStarted, 'count'],
    ['Waits of visitors', volume.waits, 'count'],
    ...(first === undefined ? [] : [['First human response, median', first.medianSeconds, 'seconds'] as const]),
    ['Open at the end', backlog.openAtEnd, 'count'],
    ['Waiting at the end', backlog.waitingAtEnd, 'count'],
    ['AI only, of the conversations with the AI', ai.aiOnlyShare, 'share'],
    ...(calls === null ? [] : [['Calls', calls.calls, 'count'] as const]),
  ]
  return section('At a glance', changeTable('The most important numbers', lines))
}

function responseTimesSection({ responseTimes }: Report): Section {
  const table: Table = {
    caption: 'Response times by the day on which the visitors asked',
    columns: [
      ...[text('Wait'), text('Until'), text('Hours'), number('Answers')],
      ...[number('Median'), number('Before'), number('Change')],
      ...[number('90 % within'), number('Before'), number('Change')],
    ],
    rows: responseTimes.map(responseTimeRow),
  }
  const hasBusinessHours = responseTimes.some(({ hours }) => hours === 'business')
  const about =
    'Medians and percentiles of all answered waits of complete conversations in the period. A wait begins with the first message of the visitor that has no answer.'
  const hours = hasBusinessHours ? '' : ' No business hours are set, so all hours count.'
  return section('Response times', about + hours, table)
}

function responseTimeRow({ which, clock, hours, answers, medianSeconds, p90Seconds }: ResponseTime): string[] {
  return [
    which === 'first' ? 'first answered of a conversation' : 'every',
    clock === 'human' ? 'a human answers' : 'a human or the AI answers',
    hours,
    formatValue(answers.value, 'count'),
    ...[medianSeconds, p90Seconds].flatMap((change) => [
      formatValue(change.value, 'seconds'),
      formatValue(change.before, 'seconds'),
      formatChange(change, 'seconds'),
    ]),
  ]
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
  const note = 'That no human wrote does not say that the visitor was helped: the service shows no rating.'
  return section('AI', changeTable('The part of the AI in the conversations that started', lines), note)
}

function uncertaintySection({ uncertainties }: Report): Section {
  const items = uncertainties.map((uncertainty) => uncertainty.text)
  const nothing = 'Nothing: all rows are known, complete and up to date.'
  return section('What is not certain', items.length === 0 ? nothing : { kind: 'list', items })
}

/** Those with the most messages; the JSON document has all. */
const maxAgents = 20

function agentsSection({ agents }: Report): Section {
  if (agents.length === 0) return section('Agents', 'No human wrote in this period.')
  const table: Table = {
    caption: 'Agents by the name on their messages',
    columns: [
      ...[text('Name'), number('Messages'), number('Change'), number('Conversations'), number('Answers')],
      ...[number('Median wait'), number('90 % within')],
    ],
    rows: agents
      .slice(0, maxAgents)
      .map(({ name, messages, conversations, answers, medianSeconds, p90Seconds }) => [
        name === '' ? '(no name)' : name,
        formatValue(messages.value, 'count'),
        formatChange(messages, 'count'),
        formatValue(conversations.value, 'count'),
        formatValue(answers.value, 'count'),
        formatValue(medianSeconds.value, 'seconds'),
        formatValue(p90Seconds.value, 'seconds'),
      ]),
  }
  const more = agents.length - maxAgents
  return section('Agents', table, ...(more > 0 ? [`And ${pluralize(more, 'more agent')}.`] : []))
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
  const none = 'No target applied to a wait of this period. Targets are set by analytics.targets in deskmirror.yaml.'
  if (targets.length === 0) return section('Targets', none)
  const table: Table = {
    caption: 'Targets by the day on which the visitors asked',
    columns: [
      ...[text('Target'), number('Within'), number('Waits'), number('Met'), number('Missed')],
      ...[
        number('Open'),
        number('Without answer'),
        number('Met, of those answered'),
        number('Before'),
        number('Change'),
      ],
    ],
    rows: targets.map(({ name, targetSeconds, waits, met, missed, open, without, metShare }) => [
      ...[name, formatValue(targetSeconds, 'seconds')],
      ...[waits, met, missed, open, without].map(({ value }) => formatCount(value ?? 0)),
      ...[formatValue(metShare.value, 'share'), formatValue(metShare.before, 'share'), formatChange(metShare, 'share')],
    ]),
  }
  return section('Targets', table)
}
