/** `deskmirror writeback show`: everything that is known of one write-back. */
import { Command } from 'commander'
import type { QueueEvent } from '../../core/outbox/desk.ts'
import type { ShowReport } from '../../core/outbox/report.ts'
import { type Typed, typedIn } from '../../core/typed.ts'
import { type Answer, give, theOne } from '../answer.ts'
import { jsonOption, oneProjectOption } from '../options.ts'
import { plural, printable } from '../readable.ts'
import type { Shell } from '../shell.ts'
import { aligned } from '../table.ts'
import { targetOf } from './list.ts'

const examples = `
An id may be its beginning, if no other id begins so. Request ids are the service's: quote them to its support.

Examples:
  $ deskmirror writeback show 0199a3f2-51c4
  $ deskmirror writeback show 0199a3f2-51c4 --json | jq .events

Exit code: 0 shown · 1 failed, trying again may help · 2 no id begins so, or several do`

type Options = { readonly project?: string; readonly json?: true }

export function showCommand(shell: Shell): Command {
  return new Command('show')
    .summary('show one write-back, and what happened to it')
    .description('Shows all that is known of one write-back, what happened to it, and what it waits for.')
    .argument('<id>', 'its id, or how that begins')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((id: string, options: Options) => give(shell, options.json === true, () => show(shell, id, options)))
}

async function show(shell: Shell, id: string, options: Options): Promise<Answer> {
  const config = shell.loadConfig('mirror')
  const project = theOne(config.projects, options.project, 'nothing was shown')
  const { showWriteback } = await shell.queue()
  const report = await showWriteback(config, project, id)
  return { document: report, lines: showLines(report, typedIn(config.projects, project.name)), exit: 0 }
}

export function showLines({ writeback: it, events, waitsFor, holds }: ShowReport, typed: Typed): string[] {
  const known: readonly (readonly [string, string | number | null])[] = [
    ['id', it.id],
    ['operation', it.operation],
    [it.conversationId === null ? 'visitor' : 'conversation', targetOf(it)],
    ...Object.entries(it.payload).map(([field, value]) => [field, JSON.stringify(value)] as const),
    ['status', it.status],
    ['why', it.error ?? it.step],
    ['waits for', waitsFor === null ? null : `${waitsFor.id}, which is ${waitsFor.status}`],
    ['holds', holds === 0 ? null : `${plural(holds, 'write-back')} behind it`],
    ['sent', it.attempts === 0 ? null : `${plural(it.attempts, 'time')}, last at ${it.sentAt}`],
    ['settled', it.finishedAt],
    ['message', it.messageId],
    ['request', it.requestId],
    ['batch', it.batchId],
    ['ref', it.ref],
    ['expects', it.expect],
    ['expires', it.expiresAt],
    ['queued', it.createdBy === null ? it.createdAt : `${it.createdAt} by ${it.createdBy}`],
  ]
  return [
    ...aligned(known.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))),
    ...aligned(events.map(eventCells), '  '),
    ...nextLines(it, typed),
  ].map(printable)
}

function eventCells({ at, from, to, detail, requestId }: QueueEvent): string[] {
  const request = requestId === null ? '' : `request ${requestId}`
  return [at, from === null || from === to ? to : `${from} → ${to}`, detail ?? '', request]
}

function nextLines(it: ShowReport['writeback'], typed: Typed): string[] {
  const { id } = it
  switch (it.status) {
    case 'draft':
      return [`next: ${typed(`writeback approve ${id}`)}`]
    case 'uncertain':
      return [`next: look whether it is there, then ${typed(`writeback resolve ${id} --arrived`)}, or --lost`]
    case 'failed':
      return [
        `next: ${typed(`writeback retry ${id}`)} sends it again as it is`,
        `or, to correct it: ${typed(`writeback list --status failed --target ${targetOf(it)} --csv`)}`,
      ]
    case 'conflict':
      return [`next: ${typed(`writeback retry ${id}`)} sends it again`]
    default:
      return []
  }
}
