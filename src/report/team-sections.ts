/** The sections about who answered, by phone too, and whether it was in time. */
import { formatCount, pluralize } from '../core/format.ts'
import { changeTable } from './change-table.ts'
import { type Block, number, type Section, type Table, text } from './page.ts'
import type { Report } from './report.ts'
import { formatChange, formatValue } from './values.ts'

/** Those with the most messages; the JSON document has all. */
const maxAgents = 20

export function agentsSection({ agents }: Report): Section {
  const title = 'Agents'
  if (agents.length === 0) return { title, blocks: [{ kind: 'text', text: 'No human wrote in this period.' }] }
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
  const blocks: Block[] = [{ kind: 'table', table }]
  if (more > 0) blocks.push({ kind: 'text', text: `And ${pluralize(more, 'more agent')}.` })
  return { title, blocks }
}

export function callsSection({ calls }: Report): Section {
  const title = 'Calls'
  if (calls === null) return { title, blocks: [{ kind: 'text', text: 'Calls are not mirrored, or not read yet.' }] }
  const table = changeTable('Calls by the day on which they started', [
    ['Calls', calls.calls, 'count'],
    ['Different callers that are known', calls.callers, 'count'],
    ['With a recording', calls.withRecording, 'count'],
    ['Of known length', calls.withLength, 'count'],
    ['Total length of these', calls.seconds, 'seconds'],
    ['Median length of these', calls.medianSeconds, 'seconds'],
  ])
  return { title, blocks: [{ kind: 'table', table }] }
}

export function targetsSection({ targets }: Report): Section {
  const title = 'Targets'
  if (targets.length === 0) {
    const none = 'No target applied to a wait of this period. Targets are set by analytics.targets in deskmirror.yaml.'
    return { title, blocks: [{ kind: 'text', text: none }] }
  }
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
  return { title, blocks: [{ kind: 'table', table }] }
}
