/** Makes a decision that was typed: which write-backs it is about, and what it answers. */
import {
  type DecisionName,
  decisionOf,
  decisions,
  type OutboxDecision,
  type OutboxFilter,
} from '../../outbox/core/decisions.ts'
import type { ReviewOutcome } from '../../outbox/core/review.ts'
import type { WritebackStatus } from '../../outbox/core/state.ts'
import type { Operation } from '../../outbox/core/writeback-request.ts'
import { pluralize } from '../../values/format.ts'
import { UserError } from '../../values/user-error.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandResult, ProjectCall } from '../command-result.ts'
import { type CommonOptions, decidingPerson, type PersonOption } from '../options.ts'
import { renderBatchDecision, renderDecision, renderMismatch, renderRevert } from './render-decision.ts'

/** `resolve` says with an option which of two decisions it is. */
export type DecisionCommandName = Exclude<DecisionName, 'arrived' | 'lost'> | 'resolve'

export type DecisionOptions = CommonOptions &
  PersonOption & {
    readonly batch?: string
    readonly all?: true
    readonly status?: readonly WritebackStatus[]
    readonly operation?: readonly Operation[]
    readonly outcome?: readonly ReviewOutcome[]
    readonly digest?: string
    readonly arrived?: true
    readonly lost?: true
    readonly restored?: true
    readonly send?: true
  }

type Call = ProjectCall & { readonly context: CommandContext; readonly options: DecisionOptions; readonly by: string }

export async function runDecision(
  context: CommandContext,
  projectCall: ProjectCall,
  name: DecisionCommandName,
  ids: readonly string[],
  options: DecisionOptions,
): Promise<CommandResult> {
  const { batch, all, restored, send } = options
  const decision = name === 'resolve' ? toResolution(options) : name
  const { event, isAboutBatch } = decisions[decision]
  if (decision === 'resume' && ((batch === undefined) !== (restored === true) || (send === true && restored !== true)))
    throw unchangedError(
      'it needs either --batch, or --restored, and --send only goes with --restored',
      'see `deskmirror writeback resume --help`',
    )
  const { config, project, hint } = projectCall
  const by = decidingPerson(context, config, options)
  const call = { ...projectCall, context, options, by }
  if (!isAboutBatch) {
    const isUndoOfOwn = decision === 'undo' && ids.length === 0 && !batch && !all
    return decideRows(call, event, isUndoOfOwn ? { approvedBy: by } : toSelection(decision, ids, options))
  }
  const app = await context.load(() => import('../../app/batches.ts'))
  if (batch === undefined) return resumeRestored(call)
  if (event === null) {
    const report = await app.revertBatchOf(config, project, { batch, by })
    const { cannot = 0, stands_against = 0, not_known = 0 } = report.counts
    const exit = cannot + stands_against + not_known > 0 ? 3 : 0
    return { document: report, lines: renderRevert(report, hint), exit }
  }
  const report = await app.decideBatch(config, project, event, { batch, by })
  const lines = 'outcome' in report ? renderMismatch(report, batch, hint) : renderBatchDecision(report, hint)
  return { document: report, lines, exit: 'outcome' in report ? 2 : 0 }
}

/** Exactly one of the two options is required. */
function toResolution({ arrived, lost }: DecisionOptions): 'arrived' | 'lost' {
  if (arrived === undefined && lost === undefined)
    throw unchangedError('the outcome is missing', 'give --arrived or --lost')
  return arrived === true ? 'arrived' : 'lost'
}

/** Requires exactly one kind of selection, so that no one cancels or sends more than intended. */
function toSelection(
  decision: DecisionName,
  ids: readonly string[],
  { batch, all, status, operation: operations }: DecisionOptions,
): OutboxFilter {
  const { selection = '', fromInBatch } = decisions[decision]
  const selections = [ids.length > 0, batch !== undefined || status !== undefined, all === true].filter(Boolean)
  if (selections.length > 1) throw unchangedError(unclearSelection, 'give only one of ids, --batch and --all')
  if (selections.length === 0) throw unchangedError(unclearSelection, selection)
  if (all === true) return { operations }
  return ids.length > 0 ? { ids, operations } : { batch, statuses: status ?? fromInBatch?.unseen, operations }
}

const unclearSelection = 'it is unclear which write-backs to select'

function unchangedError(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}

async function decideRows(call: Call, decision: OutboxDecision, typed: OutboxFilter): Promise<CommandResult> {
  const { context, config, project, by, hint } = call
  const { batch, digest } = call.options
  const selection = await restrictToOutcomes(call, typed)
  // The digest names all drafts of the batch, of which some may be approved.
  const shown = digest === undefined ? {} : { shown: { filter: batch === undefined ? selection : { batch }, digest } }
  const { decideWritebacks } = await context.load(() => import('../../app/outbox.ts'))
  const report = await decideWritebacks(config, project, decision, { selection, by, ...shown })
  if ('outcome' in report) return { document: report, lines: renderMismatch(report, batch ?? 'NAME', hint), exit: 2 }
  // Ids that did not change are unexpected, and so are drafts that an approval left. In a cancelled batch only those in
  // flight are, as they could not be cancelled.
  const isById = (digest === undefined ? typed : selection).ids !== undefined
  const { unexpectedlyLeft } = decisionOf(decision)
  const exit = report.stayed.some(({ status }) => isById || status === unexpectedlyLeft) ? 3 : 0
  return { document: report, lines: renderDecision(report, decision, hint), exit }
}

/** The review decides which rows of the batch these are. */
async function restrictToOutcomes(
  { context, config, project, options: { outcome: outcomes, batch } }: Call,
  selection: OutboxFilter,
): Promise<OutboxFilter> {
  if (outcomes === undefined) return selection
  if (batch === undefined) throw unchangedError(unclearSelection, 'give --outcome together with --batch')
  const { selectByOutcome } = await context.load(() => import('../../app/review.ts'))
  return { ...selection, ids: await selectByOutcome(config, project, batch, { outcomes, now: context.now() }) }
}

async function resumeRestored({ context, config, project, options, by, hint }: Call): Promise<CommandResult> {
  const app = await context.load(() => import('../../app/batches.ts'))
  const report = await app.resumeRestored(config, project, { by, queued: options.send === true ? 'send' : 'draft' })
  const { drafts } = report
  const next = `next: ${hint('writeback approve --all')} sends them, ${hint('writeback cancel --all')} gives them up`
  const became = `${pluralize(drafts, 'queued write-back')} became ${drafts === 1 ? 'a draft' : 'drafts'}`
  return { document: report, lines: [`${project.name} sends again: ${became}`, ...(drafts > 0 ? [next] : [])], exit: 0 }
}
