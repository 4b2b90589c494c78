/** `deskmirror writeback show`: all stored data of one write-back. */
import { Command } from 'commander'
import { type EventLogEntry, targetIdOf } from '../../outbox/core/outbox-entry.ts'
import type { ShowWritebackReport } from '../../outbox/core/reports.ts'
import { describeVerdict } from '../../outbox/core/review-labels.ts'
import { pluralize, toPrintable } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { CommandHint } from '../../values/user-error.ts'
import type { CommandContext } from '../command-context.ts'
import { runForProject } from '../command-result.ts'
import { type CommonOptions, jsonOption, oneProjectOption } from '../options.ts'
import { alignColumns } from '../render/table.ts'

const examples = `
A unique beginning or end of the id is enough. Request ids are the service's: quote them to its support.

Examples:
  $ deskmirror writeback show 0199a3f2-51c4
  $ deskmirror writeback show 0199a3f2-51c4 --json | jq .events

Exit code: 0 shown · 1 failed, trying again may help · 2 no id or several ids match`

export function showCommand(context: CommandContext): Command {
  return new Command('show')
    .summary('show one write-back and its history')
    .description('Shows one write-back, its history, and what it waits for.')
    .argument('<id>', 'its id, or a unique beginning or end of it')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((id: string, options: CommonOptions) =>
      runForProject(context, options, { what: 'nothing was shown' }, async ({ config, project, hint }) => {
        const { showWriteback } = await context.load(() => import('../../app/outbox.ts'))
        const report = await showWriteback(config, project, id)
        return { document: report, lines: renderWriteback(report, hint), exit: 0 }
      }),
    )
}

function renderWriteback(
  { writeback, events, check, waitsFor, holds }: ShowWritebackReport,
  hint: CommandHint,
): string[] {
  const fields: readonly (readonly [string, string | number | null])[] = [
    ['id', writeback.id],
    ['operation', writeback.operation],
    [writeback.conversationId === null ? 'visitor' : 'conversation', targetIdOf(writeback)],
    ['visitor name', writeback.visitorName],
    ['last words', writeback.lastWords === null ? null : JSON.stringify(writeback.lastWords)],
    ...Object.entries(writeback.payload).map(([field, value]) => [field, JSON.stringify(value)] as const),
    ['status', writeback.status],
    ['why', writeback.error ?? writeback.step],
    [
      'checked',
      check && `${check.checkedAt}: ${describeVerdict(check)}${check.isVoid ? ' (before its last change)' : ''}`,
    ],
    ['waits for', waitsFor === null ? null : `${waitsFor.id}, which is ${waitsFor.status}`],
    ['holds', holds === 0 ? null : `${pluralize(holds, 'write-back')} behind it`],
    ['sent', describeSends(writeback)],
    ['settled', writeback.finishedAt],
    ['message', writeback.messageId],
    ['request', writeback.requestId],
    ['batch', writeback.batchId],
    ['ref', writeback.ref],
    ['expects', writeback.expect],
    ['expires', writeback.expiresAt],
    ['queued', writeback.createdBy === null ? writeback.createdAt : `${writeback.createdAt} by ${writeback.createdBy}`],
    ['approved by', writeback.approvedBy],
    ['undo until', writeback.undoUntil],
    ['stopped by', writeback.stoppedBy],
    ['decided by', writeback.decidedBy],
  ]
  return [
    ...alignColumns(fields.flatMap(([name, value]) => (value === null ? [] : [[name, showInvisible(String(value))]]))),
    ...alignColumns(events.map(eventCells), '  '),
    ...renderNextSteps(writeback, hint),
  ].map(toPrintable)
}

/** A corrected row keeps the number of sends, and has not been sent in its new form. */
function describeSends({ attempts, sentAt }: ShowWritebackReport['writeback']): string | null {
  return attempts === 0 || sentAt === null ? null : `${pluralize(attempts, 'time')}, last at ${sentAt}`
}

function eventCells({ at, from, to, detail, person, requestId }: EventLogEntry): string[] {
  const request = requestId === null ? '' : `request ${requestId}`
  // Most details of decisions name the person already.
  const by = person === null || detail?.includes(person) ? '' : `by ${person}`
  return [at, from === null || from === to ? to : `${from} → ${to}`, detail ?? '', by, request]
}

function renderNextSteps(writeback: ShowWritebackReport['writeback'], hint: CommandHint): string[] {
  const { id } = writeback
  switch (writeback.status) {
    case 'draft':
      return [`next: ${hint(`writeback approve ${id}`)}`]
    case 'uncertain':
      return [`next: check whether it arrived, then ${hint(`writeback resolve ${id} --arrived`)}, or --lost`]
    case 'failed':
      return [
        `next: ${hint(`writeback retry ${id}`)} sends it again as it is`,
        `or, to correct it: ${hint(`writeback list --status failed --target ${targetIdOf(writeback)} --csv`)}`,
      ]
    case 'conflict':
      return [`next: look at what changed since; ${hint(`writeback retry ${id}`)} sends it all the same`]
    default:
      return []
  }
}
