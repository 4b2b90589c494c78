/** `deskmirror writeback approve`, `cancel`, `retry`, `resolve`: what people decide about what is queued. */
import { Command, Option } from 'commander'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { OutboxDecision, WritebackStatus } from '../../core/outbox/state.ts'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import { UserError } from '../../core/user-error.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import type { ExitCode } from '../exit-code.ts'
import { jsonOption, oneProjectOption } from '../options.ts'
import { formatCount } from '../render/format.ts'
import type { CommandContext } from '../command-context.ts'
import { statusOption } from './list.ts'

type Options = {
  readonly batch?: string
  readonly all?: true
  readonly status?: readonly WritebackStatus[]
  readonly arrived?: true
  readonly lost?: true
  readonly project?: string
  readonly json?: true
}

const idHelp = `
An id may be its beginning, if no other id begins so. Where one means nothing, or several, nothing is changed.
`
const exitCodeHelp = `
Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something: an id, the call ·
3 done, but some that were meant stay as they are`

export function approveCommand(context: CommandContext): Command {
  return decisionCommand(context, 'approve', 'approved')
    .summary('queue drafts for sending')
    .description(
      'Queues drafts for sending. Imports of more rows than approve_over in the configuration begin as drafts.',
    )
    .option('--batch <name>', 'all drafts of this import')
    .option('--all', 'all drafts')
    .addHelpText(
      'after',
      `${idHelp}
Examples:
  $ deskmirror writeback list --status draft
  $ deskmirror writeback approve --batch replies-0123456789ab
${exitCodeHelp}`,
    )
}

export function cancelCommand(context: CommandContext): Command {
  return decisionCommand(context, 'cancel', 'cancelled')
    .summary('stop what has not been sent')
    .description('Stops what has not been sent, at once, whoever works on it.')
    .option('--batch <name>', 'all of this import')
    .option('--all', 'everything that is queued, or waits for approval')
    .addHelpText(
      'after',
      `${idHelp}One that is sending may have left already. It is not sent again: where it did not arrive it becomes cancelled, else
succeeded; where nobody can tell, uncertain.

Examples:
  $ deskmirror writeback cancel 0199a3f2-51c4
  $ deskmirror writeback cancel --batch replies-0123456789ab
  $ deskmirror writeback cancel --all                            the kill switch
${exitCodeHelp}`,
    )
}

export function retryCommand(context: CommandContext): Command {
  return decisionCommand(context, 'retry', 'retried')
    .summary('queue again what failed')
    .description('Queues again what failed. What the mirror shows now counts as seen, so look at it before.')
    .option('--batch <name>', 'those of this import that failed (others with --status)')
    .addOption(statusOption())
    .addHelpText(
      'after',
      `${idHelp}failed, conflict, cancelled and expired ones can be queued again. An uncertain one must be resolved first: it may have
arrived. An expiry that has passed counts no more.

Examples:
  $ deskmirror writeback retry 0199a3f2-51c4
  $ deskmirror writeback retry --status failed
  $ deskmirror writeback retry --batch replies-0123456789ab --status failed,conflict
${exitCodeHelp}`,
    )
}

export function resolveCommand(context: CommandContext): Command {
  return decisionCommand(context, 'resolve', 'resolved')
    .summary('say what became of an uncertain one')
    .description('Says what became of uncertain ones, after somebody looked; their lanes go on then.')
    .addOption(new Option('--arrived', 'it is there: it becomes succeeded'))
    .addOption(new Option('--lost', 'it is not there: it becomes failed').conflicts('arrived'))
    .addHelpText(
      'after',
      `${idHelp}Look in the app whether the reply or the note is there. A lost one is not sent again by itself: \`deskmirror writeback retry ID\` does that.

Examples:
  $ deskmirror writeback list --status uncertain
  $ deskmirror writeback resolve 0199a3f2-51c4 --arrived
  $ deskmirror writeback resolve 0199a3f2-51c4 --lost && deskmirror writeback retry 0199a3f2-51c4
${exitCodeHelp}`,
    )
}

function decisionCommand(context: CommandContext, name: string, decision: OutboxDecision | 'resolved'): Command {
  return new Command(name)
    .argument('[ids...]', 'their ids, or how those begin')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .action((ids: readonly string[], options: Options) =>
      runAndPrint(context, options.json === true, () => runDecision(context, decision, ids, options)),
    )
}

async function runDecision(
  context: CommandContext,
  requested: OutboxDecision | 'resolved',
  ids: readonly string[],
  options: Options,
): Promise<CommandResult> {
  const decision = requested === 'resolved' ? toResolution(options) : requested
  const selection = toSelection(decision, ids, options)
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was changed')
  const { decideWritebacks } = await context.loadWritebackUseCases()
  const report = await decideWritebacks(config, project, decision, { meant: selection, by: context.currentUser() })
  return {
    document: report,
    lines: renderDecision(report, decision, projectCommandHint(config.projects, project.name)),
    exit: toExitCode(report, decision, ids.length > 0),
  }
}

/** Both, or neither, say nothing. */
function toResolution({ arrived, lost }: Options): OutboxDecision {
  if (arrived === undefined && lost === undefined)
    throw unclearSelectionError('say what became of it: --arrived or --lost', 'it is not said what became of them')
  return arrived === true ? 'arrived' : 'lost'
}

/** Exactly one way to say which: nobody should cancel, or send, more than they meant. */
function toSelection(decision: OutboxDecision, ids: readonly string[], { batch, all, status }: Options): OutboxFilter {
  const ways = [ids.length > 0, batch !== undefined || status !== undefined, all === true].filter(Boolean)
  if (ways.length > 1) throw unclearSelectionError('ids, --batch and --all exclude each other')
  if (ids.length > 0) return { ids }
  if (all === true) return {}
  const statuses = decision === 'retried' ? (status ?? ['failed' as const]) : undefined
  if (ways.length === 1)
    return { ...(batch === undefined ? {} : { batch }), ...(statuses === undefined ? {} : { statuses }) }
  throw unclearSelectionError(selectionHints[decision])
}

const selectionHints: Readonly<Record<OutboxDecision, string>> = {
  approved: 'name ids, or --batch, or --all',
  cancelled: 'name ids, or --batch, or --all',
  retried: 'name ids, or --batch, or --status failed',
  arrived: 'name ids',
  lost: 'name ids',
}

function unclearSelectionError(next: string, why = 'it is not clear which are meant'): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}

const resultWords: Readonly<Record<OutboxDecision, string>> = {
  approved: 'queued',
  cancelled: 'cancelled',
  retried: 'queued again',
  arrived: 'succeeded',
  lost: 'failed',
}

export function renderDecision({ moved, ids, stayed, following }: DecisionReport, decision: OutboxDecision, typed: CommandHint): string[] {
  const renderStayed = ({ id, status, count: rows, why }: DecisionReport['stayed'][number]) => {
    const who = id ?? formatCount(rows)
    const isOne = id !== null || rows === 1
    if (status === 'sending' && decision === 'cancelled')
      return `${who} ${isOne ? 'is on its way' : 'are on their way'}: ${why}`
    return `${who} ${isOne ? 'stays' : 'stay'} ${status}: ${why}`
  }
  return [
    `${formatCount(moved)} ${resultWords[decision]}`,
    ...stayed.map(renderStayed),
    ...(following === true ? ['none of them is sent; their rows follow while the worker, or the next push, runs'] : []),
    ...(moved === 0 ? [] : renderNextSteps(decision, ids, typed)),
  ]
}

function renderNextSteps(decision: OutboxDecision, ids: readonly string[], typed: CommandHint): string[] {
  switch (decision) {
    case 'approved':
    case 'retried':
      return [`next: ${typed('push')}, unless a worker runs`]
    case 'lost':
      return ids.length > 3
        ? [`next: ${typed('writeback retry')} and their ids sends them again`]
        : [`next: ${typed(`writeback retry ${ids.join(' ')}`)} sends ${ids.length === 1 ? 'it' : 'them'} again`]
    default:
      return []
  }
}

/** Who names one wants that one; of a whole import some may well be elsewhere. What is on its way cannot be stopped. */
function toExitCode({ stayed }: DecisionReport, decision: OutboxDecision, byId: boolean): ExitCode {
  const unexpected = byId ? stayed : stayed.filter(({ status }) => decision === 'cancelled' && status === 'sending')
  return unexpected.length > 0 ? 3 : 0
}
