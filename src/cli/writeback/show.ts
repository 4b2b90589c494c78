/** `deskmirror writeback show`: everything that is known of one write-back. */
import { Command } from 'commander'
import type { EventLogEntry } from '../../core/outbox/admin.ts'
import type { ShowWritebackReport } from '../../core/outbox/reports.ts'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { jsonOption, oneProjectOption } from '../options.ts'
import { pluralize, toPrintable } from '../render/format.ts'
import type { CommandContext } from '../command-context.ts'
import { alignColumns } from '../render/table.ts'
import { targetId } from './list.ts'

const examples = `
An id may be its beginning, if no other id begins so. Request ids are the service's: quote them to its support.

Examples:
  $ deskmirror writeback show 0199a3f2-51c4
  $ deskmirror writeback show 0199a3f2-51c4 --json | jq .events

Exit code: 0 shown · 1 failed, trying again may help · 2 no id begins so, or several do`

type Options = { readonly project?: string; readonly json?: true }

export function showCommand(context: CommandContext): Command {
  return new Command('show')
    .summary('show one write-back, and what happened to it')
    .description('Shows all that is known of one write-back, what happened to it, and what it waits for.')
    .argument('<id>', 'its id, or how that begins')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((id: string, options: Options) => runAndPrint(context, options.json === true, () => runShow(context, id, options)))
}

async function runShow(context: CommandContext, id: string, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was shown')
  const { showWriteback } = await context.loadWritebackUseCases()
  const report = await showWriteback(config, project, id)
  return { document: report, lines: renderWriteback(report, projectCommandHint(config.projects, project.name)), exit: 0 }
}

export function renderWriteback({ writeback, events, waitsFor, holds }: ShowWritebackReport, typed: CommandHint): string[] {
  const known: readonly (readonly [string, string | number | null])[] = [
    ['id', writeback.id],
    ['operation', writeback.operation],
    [writeback.conversationId === null ? 'visitor' : 'conversation', targetId(writeback)],
    ...Object.entries(writeback.payload).map(([field, value]) => [field, JSON.stringify(value)] as const),
    ['status', writeback.status],
    ['why', writeback.error ?? writeback.step],
    ['waits for', waitsFor === null ? null : `${waitsFor.id}, which is ${waitsFor.status}`],
    ['holds', holds === 0 ? null : `${pluralize(holds, 'write-back')} behind it`],
    ['sent', writeback.attempts === 0 ? null : `${pluralize(writeback.attempts, 'time')}, last at ${writeback.sentAt}`],
    ['settled', writeback.finishedAt],
    ['message', writeback.messageId],
    ['request', writeback.requestId],
    ['batch', writeback.batchId],
    ['ref', writeback.ref],
    ['expects', writeback.expect],
    ['expires', writeback.expiresAt],
    ['queued', writeback.createdBy === null ? writeback.createdAt : `${writeback.createdAt} by ${writeback.createdBy}`],
  ]
  return [
    ...alignColumns(known.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))),
    ...alignColumns(events.map(eventCells), '  '),
    ...renderNextSteps(writeback, typed),
  ].map(toPrintable)
}

function eventCells({ at, from, to, detail, requestId }: EventLogEntry): string[] {
  const request = requestId === null ? '' : `request ${requestId}`
  return [at, from === null || from === to ? to : `${from} → ${to}`, detail ?? '', request]
}

function renderNextSteps(writeback: ShowWritebackReport['writeback'], typed: CommandHint): string[] {
  const { id } = writeback
  switch (writeback.status) {
    case 'draft':
      return [`next: ${typed(`writeback approve ${id}`)}`]
    case 'uncertain':
      return [`next: look whether it is there, then ${typed(`writeback resolve ${id} --arrived`)}, or --lost`]
    case 'failed':
      return [
        `next: ${typed(`writeback retry ${id}`)} sends it again as it is`,
        `or, to correct it: ${typed(`writeback list --status failed --target ${targetId(writeback)} --csv`)}`,
      ]
    case 'conflict':
      return [`next: ${typed(`writeback retry ${id}`)} sends it again`]
    default:
      return []
  }
}
