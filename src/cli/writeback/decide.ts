/** `deskmirror writeback approve`, `cancel`, `retry`, `resolve`: people's decisions about write-backs. */
import { Command, Option } from 'commander'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { OutboxDecision, WritebackStatus } from '../../core/outbox/state.ts'
import { UserError } from '../../core/user-error.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import type { ExitCode } from '../exit-code.ts'
import { type CommonOptions, jsonOption, oneProjectOption } from '../options.ts'
import { formatCount } from '../render/format.ts'
import { statusOption } from './list.ts'

type Options = CommonOptions & {
  readonly batch?: string
  readonly all?: true
  readonly status?: readonly WritebackStatus[]
  readonly arrived?: true
  readonly lost?: true
}

const idHelp = `
A unique prefix of an id is enough. If an id matches no write-back or several, nothing is changed.
`
const exitCodeHelp = `
Exit code: 0 done · 1 failed, trying again may help · 2 a person must correct the command, for example an id ·
3 done, but some of the selected write-backs did not change`

export function approveCommand(context: CommandContext): Command {
  return decisionCommand(context, 'approve', 'approved')
    .summary('queue drafts for sending')
    .description(
      'Queues drafts for sending. Imports of more rows than approve_over in the configuration start as drafts.',
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
    .summary('cancel what has not been sent')
    .description('Cancels what has not been sent, at once, also while a worker runs.')
    .option('--batch <name>', 'all of this import')
    .option('--all', 'everything that is queued or waits for approval')
    .addHelpText(
      'after',
      `${idHelp}A write-back that is sending may have been sent already. It is not sent again, and becomes cancelled if it did not
arrive, succeeded if it did, and uncertain if that cannot be verified.

Examples:
  $ deskmirror writeback cancel 0199a3f2-51c4
  $ deskmirror writeback cancel --batch replies-0123456789ab
  $ deskmirror writeback cancel --all                            the kill switch
${exitCodeHelp}`,
    )
}

export function retryCommand(context: CommandContext): Command {
  return decisionCommand(context, 'retry', 'retried')
    .summary('queue failed write-backs again')
    .description('Queues failed write-backs again. The current mirror counts as what you saw, so check it first.')
    .option('--batch <name>', 'the failed ones of this import (others with --status)')
    .addOption(statusOption())
    .addHelpText(
      'after',
      `${idHelp}Failed, conflict, cancelled and expired write-backs can be queued again. An uncertain one must be resolved first, as it
may have arrived. An expiry that has passed is dropped.

Examples:
  $ deskmirror writeback retry 0199a3f2-51c4
  $ deskmirror writeback retry --status failed
  $ deskmirror writeback retry --batch replies-0123456789ab --status failed,conflict
${exitCodeHelp}`,
    )
}

export function resolveCommand(context: CommandContext): Command {
  return decisionCommand(context, 'resolve', 'resolved')
    .summary('state the outcome of an uncertain write-back')
    .description('Records the outcome of uncertain write-backs after you have checked it; their lanes then continue.')
    .addOption(new Option('--arrived', 'it arrived: it becomes succeeded'))
    .addOption(new Option('--lost', 'it did not arrive: it becomes failed').conflicts('arrived'))
    .addHelpText(
      'after',
      `${idHelp}Check in the app whether the reply or the note is there. A lost one is not sent again automatically; to
send it again, use \`deskmirror writeback retry ID\`.

Examples:
  $ deskmirror writeback list --status uncertain
  $ deskmirror writeback resolve 0199a3f2-51c4 --arrived
  $ deskmirror writeback resolve 0199a3f2-51c4 --lost && deskmirror writeback retry 0199a3f2-51c4
${exitCodeHelp}`,
    )
}

function decisionCommand(context: CommandContext, name: string, decision: OutboxDecision | 'resolved'): Command {
  return new Command(name)
    .argument('[ids...]', 'their ids, or unique prefixes of them')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .action((ids: readonly string[], options: Options) =>
      runAndPrint(context, options, () => runDecision(context, decision, ids, options)),
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
  const { decideWritebacks } = await context.load(() => import('../../app/outbox.ts'))
  const report = await decideWritebacks(config, project, decision, { selection, by: context.currentUser() })
  return {
    document: report,
    lines: renderDecision(report, decision, projectCommandHint(config.projects, project.name)),
    exit: toExitCode(report, decision, ids.length > 0),
  }
}

/** Exactly one of the two options is required. */
function toResolution({ arrived, lost }: Options): OutboxDecision {
  if (arrived === undefined && lost === undefined)
    throw unclearSelectionError('give --arrived or --lost', 'the outcome is missing')
  return arrived === true ? 'arrived' : 'lost'
}

/** Requires exactly one kind of selection, so that no one cancels or sends more than intended. */
function toSelection(decision: OutboxDecision, ids: readonly string[], { batch, all, status }: Options): OutboxFilter {
  const selections = [ids.length > 0, batch !== undefined || status !== undefined, all === true].filter(Boolean)
  if (selections.length > 1) throw unclearSelectionError('give only one of ids, --batch and --all')
  if (ids.length > 0) return { ids }
  if (all === true) return {}
  const statuses = decision === 'retried' ? (status ?? ['failed' as const]) : undefined
  if (selections.length === 1)
    return { ...(batch === undefined ? {} : { batch }), ...(statuses === undefined ? {} : { statuses }) }
  throw unclearSelectionError(selectionHints[decision])
}

const selectionHints: Readonly<Record<OutboxDecision, string>> = {
  approved: 'give ids, or --batch, or --all',
  approval_undone: 'give ids, or --batch, or --all',
  cancelled: 'give ids, or --batch, or --all',
  retried: 'give ids, or --batch, or --status failed',
  arrived: 'give ids',
  lost: 'give ids',
}

function unclearSelectionError(next: string, why = 'it is unclear which write-backs to select'): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}

const resultWords: Readonly<Record<OutboxDecision, string>> = {
  approved: 'queued',
  approval_undone: 'back to draft',
  cancelled: 'cancelled',
  retried: 'queued again',
  arrived: 'succeeded',
  lost: 'failed',
}

function renderDecision(
  { moved, ids, stayed, following }: DecisionReport,
  decision: OutboxDecision,
  hint: CommandHint,
): string[] {
  const renderStayed = ({ id, status, count: rows, why }: DecisionReport['stayed'][number]) => {
    const who = id ?? formatCount(rows)
    const isOne = id !== null || rows === 1
    if (status === 'sending' && decision === 'cancelled') return `${who} ${isOne ? 'is' : 'are'} in flight: ${why}`
    return `${who} ${isOne ? 'stays' : 'stay'} ${status}: ${why}`
  }
  return [
    `${formatCount(moved)} ${resultWords[decision]}`,
    ...stayed.map(renderStayed),
    ...(following === true
      ? ['none of them will be sent; the worker or the next push updates the remaining rows']
      : []),
    ...(moved === 0 ? [] : renderNextSteps(decision, ids, hint)),
  ]
}

function renderNextSteps(decision: OutboxDecision, ids: readonly string[], hint: CommandHint): string[] {
  switch (decision) {
    case 'approved':
    case 'retried':
      return [`next: ${hint('push')}, unless a worker is running`]
    case 'lost':
      return ids.length > 3
        ? [`next: ${hint('writeback retry')} with their ids sends them again`]
        : [`next: ${hint(`writeback retry ${ids.join(' ')}`)} sends ${ids.length === 1 ? 'it' : 'them'} again`]
    default:
      return []
  }
}

/** Ids that did not change are unexpected. In a batch only those in flight are, as they could not be cancelled. */
function toExitCode({ stayed }: DecisionReport, decision: OutboxDecision, byId: boolean): ExitCode {
  const unexpected = byId ? stayed : stayed.filter(({ status }) => decision === 'cancelled' && status === 'sending')
  return unexpected.length > 0 ? 3 : 0
}
