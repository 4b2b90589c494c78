/** Makes a decision that was typed: which write-backs it is about, and what it answers. */

import { decisionOf, decisions } from '../../outbox/core/decisions.ts'
import { shortId } from '../../outbox/core/review/labels.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type {
  BatchDecisionReport,
  DecisionName,
  DecisionReport,
  NotReverted,
  Operation,
  OutboxDecision,
  OutboxFilter,
  ProjectDecision,
  RevertReport,
  ReviewOutcome,
  SelectionMismatch,
  WritebackStatus,
} from '../../outbox/outbox.ts'
import { formatCount, pluralize, toPrintable } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import { type CommandHint, UserError } from '../../values/user-error.ts'
import type { CommandResult, ProjectCall } from '../command.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommonOptions, decidingPerson, type PersonOption } from '../options.ts'
import { renderMore } from '../render/outbox.ts'
import { alignColumns, linesOf } from '../render/table.ts'

/** `resolve`, `stop` and `resume` say with an option which of several decisions it is. */
export type DecisionCommandName =
  | Exclude<DecisionName, 'arrived' | 'lost' | ProjectDecision>
  | 'resolve'

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
    readonly despiteFailures?: true
    readonly restored?: true
    readonly send?: true
  }

type Call = ProjectCall & {
  readonly context: CommandContext
  readonly options: DecisionOptions
  readonly by: string
}

export async function runDecision(
  context: CommandContext,
  projectCall: ProjectCall,
  name: DecisionCommandName,
  ids: readonly string[],
  options: DecisionOptions,
): Promise<CommandResult> {
  const { batch, all, despiteFailures, restored, send } = options
  const decision = name === 'resolve' ? toResolution(options) : name
  const { event, about } = decisions[decision]
  const chosen = [batch, all, despiteFailures, restored].filter((option) => option !== undefined)
  if (about === 'batch' && (chosen.length !== 1 || (send === true && restored !== true)))
    throw unchangedError(
      decision === 'resume'
        ? 'it needs one of --batch, --all, --despite-failures and --restored, and --send ' +
            'only goes with --restored'
        : 'it needs either --batch or --all',
      `see \`deskmirror writeback ${name} --help\``,
    )
  const { config, project, hint } = projectCall
  const by = decidingPerson(context, config, options)
  const call = { ...projectCall, context, options, by }
  if (about === 'writebacks') {
    const isUndoOfOwn = decision === 'undo' && ids.length === 0 && !batch && !all
    return decideRows(
      call,
      event,
      isUndoOfOwn ? { approvedBy: [by] } : toSelection(decision, ids, options),
    )
  }
  const app = await context.load(() => import('../../app/batches.ts'))
  if (all === true) return decideAllSending(call, decision === 'stop' ? 'stop_all' : 'resume_all')
  if (despiteFailures === true) return decideAllSending(call, 'close_circuit')
  if (batch === undefined) return resumeRestored(call)
  if (event === null) {
    const report = await app.revertBatchOf(config, project, { batch, by })
    const { cannot = 0, stands_against = 0, not_known = 0 } = report.counts
    const exit = cannot + stands_against + not_known > 0 ? 3 : 0
    return { document: report, lines: renderRevert(report, hint), exit }
  }
  const report = await app.decideBatch(config, project, event, { batch, by })
  const lines =
    'outcome' in report ? renderMismatch(report, batch, hint) : renderBatchDecision(report, hint)
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
  const selections = [
    ids.length > 0,
    batch !== undefined || status !== undefined,
    all === true,
  ].filter(Boolean)
  if (selections.length > 1)
    throw unchangedError(unclearSelection, 'give only one of ids, --batch and --all')
  if (selections.length === 0) throw unchangedError(unclearSelection, selection)
  if (all === true) return { operations }
  return ids.length > 0
    ? { ids, operations }
    : { batch, statuses: status ?? fromInBatch?.unseen, operations }
}

const unclearSelection = 'it is unclear which write-backs to select'

function unchangedError(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was changed', why, next })
}

async function decideRows(
  call: Call,
  decision: OutboxDecision,
  typed: OutboxFilter,
): Promise<CommandResult> {
  const { context, config, project, by, hint } = call
  const { batch, digest } = call.options
  const selection = await restrictToOutcomes(call, typed)
  // The digest names all drafts of the batch, of which some may be approved.
  const shown =
    digest === undefined
      ? {}
      : { shown: { filter: batch === undefined ? selection : { batch }, digest } }
  const { decideWritebacks } = await context.load(() => import('../../app/outbox.ts'))
  const report = await decideWritebacks(config, project, decision, { selection, by, ...shown })
  if ('outcome' in report)
    return { document: report, lines: renderMismatch(report, batch ?? 'NAME', hint), exit: 2 }
  // Ids that did not change are unexpected, and so are drafts that an approval left. In a cancelled
  // batch only those in flight are, as they could not be cancelled.
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
  if (batch === undefined)
    throw unchangedError(unclearSelection, 'give --outcome together with --batch')
  const { selectByOutcome } = await context.load(() => import('../../app/review.ts'))
  return {
    ...selection,
    ids: await selectByOutcome(config, project, batch, { outcomes, now: context.now() }),
  }
}

async function decideAllSending(
  { context, config, project, by, hint }: Call,
  decision: ProjectDecision,
) {
  const { decideSending } = await context.load(() => import('../../app/batches.ts'))
  const report = await decideSending(config, project, decision, { by })
  const { title, consequence = '' } = decisions[decision]
  const next =
    decision === 'stop_all'
      ? `${hint('writeback resume --all')} goes on`
      : `${hint('push')}, unless a worker is running`
  const lines = [
    `${project.name}: ${title.toLowerCase()}`,
    consequence,
    ...(report.notices ?? []),
    `next: ${next}`,
  ]
  return { document: report, lines, exit: 0 } as const
}

async function resumeRestored({
  context,
  config,
  project,
  options,
  by,
  hint,
}: Call): Promise<CommandResult> {
  const app = await context.load(() => import('../../app/send-record.ts'))
  const report = await app.resumeRestored(config, project, {
    by,
    queued: options.send === true ? 'send' : 'draft',
  })
  const { drafts } = report
  const next =
    `next: ${hint('writeback approve --all')} sends them, ` +
    `${hint('writeback cancel --all')} gives them up`
  const became = `${pluralize(drafts, 'queued write-back')} became ${drafts === 1 ? 'a draft' : 'drafts'}`
  return {
    document: report,
    lines: linesOf(`${project.name} sends again: ${became}`, drafts > 0 && next),
    exit: 0,
  }
}

function renderDecision(
  report: DecisionReport,
  decision: OutboxDecision,
  hint: CommandHint,
): string[] {
  const { moved, ids, stayed, following, undoUntil, notices = [] } = report
  const { from, unexpectedlyLeft, made } = decisionOf(decision)
  const isSurprising = ({ id, status }: (typeof stayed)[number]) =>
    id !== null || status === unexpectedlyLeft || from.includes(status)
  const others = Object.fromEntries(
    stayed.filter((rows) => !isSurprising(rows)).map(({ status, count }) => [status, count]),
  )
  const undo =
    `nothing leaves before ${undoUntil}; until then ` +
    `${hint('writeback undo')} takes the approval back`
  const nothingToUndo = [
    'nothing that you approved is still in its grace',
    `to take back what others approved: ${hint('writeback undo --all')}, or --batch NAME`,
    `after the grace: ${hint('writeback stop --batch NAME')} puts back to draft what has not left`,
  ]
  return linesOf(
    `${formatCount(moved)} ${made}`,
    stayed.filter(isSurprising).map((rows) => renderStayed(rows, decision)),
    Object.keys(others).length > 0 && `the others stay as they are: ${formatCounts(others)}`,
    following &&
      'none of them will be sent; the worker or the next push updates the remaining rows',
    notices,
    undoUntil !== undefined && undo,
    moved > 0 && nextStepsOfDecision(decision, ids, hint),
    moved === 0 && stayed.length === 0 && decision === 'approval_undone' && nothingToUndo,
  ).map(toPrintable)
}

function renderStayed(
  { id, status, count: rows, why }: DecisionReport['stayed'][number],
  decision: OutboxDecision,
) {
  const who = id ?? formatCount(rows)
  const isOne = id !== null || rows === 1
  if (status === 'sending' && decision === 'cancelled')
    return `${who} ${isOne ? 'is' : 'are'} in flight: ${why}`
  return `${who} ${isOne ? 'stays' : 'stay'} ${status}: ${why}`
}

function nextStepsOfDecision(
  decision: OutboxDecision,
  ids: readonly string[],
  hint: CommandHint,
): string[] {
  if (decision === 'approved' || decision === 'retried')
    return [`next: ${hint('push')}, unless a worker is running`]
  if (decision !== 'lost') return []
  if (ids.length > 3) return [`next: ${hint('writeback retry')} with their ids sends them again`]
  return [
    `next: ${hint(`writeback retry ${ids.join(' ')}`)} sends ` +
      `${ids.length === 1 ? 'it' : 'them'} again`,
  ]
}

/** An approval that named other rows than there are now. `batch`: as it was typed. */
function renderMismatch(
  { now, counts, steps }: SelectionMismatch,
  batch: string,
  hint: CommandHint,
): readonly string[] {
  // Steps that differ only in their write-back are one line.
  const latest = [
    ...Map.groupBy(steps, ({ at, from, to, detail }) => `${at} ${from} ${to} ${detail}`).values(),
  ]
  const cells = latest.slice(0, 10).flatMap(([step, ...others]) => {
    if (step === undefined) return []
    const { at, from, to, detail, writebackId, sourceRow } = step
    const row = sourceRow === null ? shortId(writebackId) : `row ${sourceRow}`
    const which = others.length === 0 ? row : pluralize(others.length + 1, 'write-back')
    return [[at, which, from === null || from === to ? to : `${from} → ${to}`, detail ?? '']]
  })
  const digest = now.count === 0 ? '' : `, digest ${now.digest.slice(0, 16)}`
  return linesOf(
    'nothing was approved: what you were shown has changed since',
    `now: ${formatCounts(counts) || 'nothing'}${digest}`,
    cells.length > 0 && ['the latest steps:', ...alignColumns(cells, '  ')],
    `next: ${hint(`writeback batches show ${batch}`)} shows it again, with the digest to approve`,
  )
}

function renderBatchDecision(report: BatchDecisionReport, hint: CommandHint): string[] {
  const { batch, decision, moved, inFlight, following, notices = [] } = report
  const around = linesOf(
    following && 'this is in force; the worker or the next push updates the remaining rows',
    notices,
  )
  if (decision === 'resumed') {
    const next = `next: ${hint('push')}, unless a worker is running`
    return [`${batch} goes on: ${formatCount(moved)} queued`, ...around, next].map(toPrintable)
  }
  const outcome = inFlight === 1 ? 'its outcome is' : 'their outcomes are'
  const flying =
    `${pluralize(inFlight, 'write-back')} in flight cannot be recalled; ` +
    `${outcome} found automatically`
  return linesOf(
    `${batch} is stopped: ${formatCount(moved)} back to draft`,
    inFlight > 0 && flying,
    around,
    `next: ${hint(`writeback resume --batch ${batch}`)} goes on`,
  ).map(toPrintable)
}

const outcomeWords: Readonly<Record<NotReverted['outcome'], string>> = {
  stands_against: 'someone changed it since; it stays as it is',
  cannot: 'cannot be taken back',
  not_known: 'not known',
  already_so: 'nothing to take back',
}

const rowsShown = 5

/** What `revert` queued, and what cannot be taken back. */
function renderRevert(report: RevertReport, hint: CommandHint): string[] {
  const { reverts, batch, queued, notices = [] } = report
  const outcomes = Object.keys(outcomeWords) as NotReverted['outcome'][]
  const left = outcomes.flatMap((outcome) => renderNotReverted(outcome, report))
  if (batch === null)
    return [`nothing of ${reverts} can be taken back`, ...left, ...notices].map(toPrintable)
  return [
    `${pluralize(queued, 'draft')} in ${batch} take back ${reverts}`,
    ...left,
    ...notices,
    `next: ${hint(`writeback batches show ${batch}`)} shows what would change`,
    `      ${hint(`writeback approve --batch ${batch}`)} sends it`,
  ].map(toPrintable)
}

function renderNotReverted(
  outcome: NotReverted['outcome'],
  { counts, notReverted }: RevertReport,
): string[] {
  const count = counts[outcome] ?? 0
  if (count === 0) return []
  const samples = notReverted.filter((row) => row.outcome === outcome).slice(0, rowsShown)
  const cells = samples.map(({ id, operation, target, visitorName, why }) => [
    shortId(id),
    operation,
    showInvisible(visitorName ?? target),
    showInvisible(why),
  ])
  const title = `${formatCount(count)} ${outcomeWords[outcome]}:`
  const more = renderMore(count, samples.length, '; --json lists up to a thousand')
  return [title, ...alignColumns(cells, '  '), ...more]
}
