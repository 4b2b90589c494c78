/** `deskmirror writeback approve`, `undo`, `cancel`, `retry`, `resolve`: people's decisions about write-backs. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Config, ProjectConfig } from '../../config/config.ts'
import { projectCommandHint } from '../../core/command-hint.ts'
import type { OutboxFilter, ShownSelection } from '../../core/outbox/admin.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { OutboxDecision, WritebackStatus } from '../../core/outbox/state.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import type { ExitCode } from '../exit-code.ts'
import { type CommonOptions, jsonOption, oneProjectOption } from '../options.ts'
import { statusOption } from './list.ts'
import { decidingPerson, type PersonOption, personOption } from './person.ts'
import { renderDecision, renderMismatch } from './render-decision.ts'
import {
  operationOption,
  outcomeOption,
  type SelectionOptions,
  toSelection,
  unclearSelectionError,
} from './selection.ts'

type Options = CommonOptions &
  PersonOption &
  SelectionOptions & { readonly arrived?: true; readonly lost?: true; readonly digest?: string }

const idHelp = `
A unique beginning or end of an id is enough. If an id matches no write-back or several, nothing is changed.
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
    .option('--batch <name>', 'all drafts of this batch')
    .option('--all', 'all drafts')
    .addOption(operationOption())
    .addOption(outcomeOption())
    .option('--digest <digest>', 'approve only if the drafts are still those that `batches show` showed', parseDigest)
    .addHelpText(
      'after',
      `${idHelp}Nothing leaves within approve_grace (30 s): until then, \`deskmirror writeback undo\` takes the approval back.

Examples:
  $ deskmirror writeback batches show replies-0123456789ab
  $ deskmirror writeback approve --batch replies-0123456789ab --digest 5f1c0a9be37d2246
  $ deskmirror writeback approve --batch replies-0123456789ab --operation handled
${exitCodeHelp}`,
    )
}

export function undoCommand(context: CommandContext): Command {
  return decisionCommand(context, 'undo', 'approval_undone')
    .summary('take an approval back within its grace')
    .description(
      'Puts what was approved back to draft, as long as its grace lasts. Without ids and options: all that you approved.',
    )
    .option('--batch <name>', 'of this batch')
    .option('--all', 'also what others approved')
    .addHelpText(
      'after',
      `${idHelp}After the grace, \`deskmirror writeback stop --batch NAME\` puts back to draft what has not left.

Examples:
  $ deskmirror writeback undo
  $ deskmirror writeback undo --batch replies-0123456789ab
${exitCodeHelp}`,
    )
}

export function cancelCommand(context: CommandContext): Command {
  return decisionCommand(context, 'cancel', 'cancelled')
    .summary('cancel what has not been sent')
    .description('Cancels what has not been sent, at once, also while a worker runs.')
    .option('--batch <name>', 'all of this batch')
    .option('--all', 'everything that is queued or waits for approval')
    .addOption(operationOption())
    .addOption(outcomeOption())
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
    .option('--batch <name>', 'the failed ones of this batch (others with --status)')
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

function parseDigest(text: string): string {
  if (/^[0-9a-f]{12,64}$/i.test(text)) return text
  throw new InvalidArgumentError('Write at least 12 digits of the digest.')
}

function decisionCommand(context: CommandContext, name: string, decision: OutboxDecision | 'resolved'): Command {
  return new Command(name)
    .argument('[ids...]', 'their ids, or unique beginnings or ends of them')
    .addOption(personOption())
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
  const isUndoOfOwn = decision === 'approval_undone' && ids.length === 0 && !options.batch && !options.all
  const typed = isUndoOfOwn ? {} : toSelection(decision, ids, options)
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was changed')
  const by = decidingPerson(context, config, options)
  const shown = isUndoOfOwn ? { approvedBy: by } : typed
  const selection = await restrictToOutcomes(context, config, project, shown, options)
  if (options.digest !== undefined) {
    // The digest names all drafts of the batch, of which some may be approved.
    const filter = options.batch === undefined ? selection : { batch: options.batch }
    return approveByDigest(context, config, project, { selection, by, shown: { filter, digest: options.digest } })
  }
  const { decideWritebacks } = await context.load(() => import('../../app/outbox.ts'))
  const report = await decideWritebacks(config, project, decision, { selection, by })
  return toResult(report, decision, ids.length > 0, projectCommandHint(config.projects, project.name))
}

/** The review decides which rows of the batch these are. */
async function restrictToOutcomes(
  context: CommandContext,
  config: Config,
  project: ProjectConfig,
  selection: OutboxFilter,
  { outcome, batch }: Options,
): Promise<OutboxFilter> {
  if (outcome === undefined) return selection
  if (batch === undefined) throw unclearSelectionError('give --outcome together with --batch')
  const { selectByOutcome } = await context.load(() => import('../../app/select-by-outcome.ts'))
  return { ...selection, ids: await selectByOutcome(config, project, { batch, outcomes: outcome, now: context.now() }) }
}

async function approveByDigest(
  context: CommandContext,
  config: Config,
  project: ProjectConfig,
  approval: { readonly selection: OutboxFilter; readonly by: string; readonly shown: ShownSelection },
): Promise<CommandResult> {
  const { approveShown } = await context.load(() => import('../../app/outbox.ts'))
  const report = await approveShown(config, project, approval)
  const hint = projectCommandHint(config.projects, project.name)
  if ('outcome' in report)
    return { document: report, lines: renderMismatch(report, approval.shown.filter.batch ?? 'NAME', hint), exit: 2 }
  return toResult(report, 'approved', approval.selection.ids !== undefined, hint)
}

function toResult(
  report: DecisionReport,
  decision: OutboxDecision,
  byId: boolean,
  hint: ReturnType<typeof projectCommandHint>,
): CommandResult {
  return { document: report, lines: renderDecision(report, decision, hint), exit: toExitCode(report, decision, byId) }
}

/** Exactly one of the two options is required. */
function toResolution({ arrived, lost }: Options): OutboxDecision {
  if (arrived === undefined && lost === undefined)
    throw unclearSelectionError('give --arrived or --lost', 'the outcome is missing')
  return arrived === true ? 'arrived' : 'lost'
}

const unexpectedlyLeft: Partial<Record<OutboxDecision, WritebackStatus>> = {
  cancelled: 'sending',
  approved: 'draft',
  approval_undone: 'queued',
}

/**
 * Ids that did not change are unexpected, and so are drafts that an approval left. In a cancelled batch only those in
 * flight are, as they could not be cancelled.
 */
function toExitCode({ stayed }: DecisionReport, decision: OutboxDecision, byId: boolean): ExitCode {
  const isUnexpected = ({ status }: DecisionReport['stayed'][number]) => byId || status === unexpectedlyLeft[decision]
  return stayed.some(isUnexpected) ? 3 : 0
}
