/** Renders what a decision changed, what it did not, and what comes next. */
import { formatCount, pluralize, toPrintable } from '../../core/format.ts'
import type { BatchDecisionReport, NotReverted, RevertReport, SelectionMismatch } from '../../core/outbox/batches.ts'
import { decisionOf, type OutboxDecision } from '../../core/outbox/decisions.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import { shortId } from '../../core/outbox/review-labels.ts'
import { showInvisible } from '../../core/outbox/review-words.ts'
import type { CommandHint } from '../../core/user-error.ts'
import { formatCounts } from '../render/outbox.ts'
import { alignColumns } from '../render/table.ts'

export function renderDecision(report: DecisionReport, decision: OutboxDecision, hint: CommandHint): string[] {
  const { moved, ids, stayed, following, undoUntil, notices = [] } = report
  return [
    `${formatCount(moved)} ${decisionOf(decision).made}`,
    ...stayed.map((rows) => renderStayed(rows, decision)),
    ...(following === true
      ? ['none of them will be sent; the worker or the next push updates the remaining rows']
      : []),
    ...notices,
    ...(undoUntil === undefined
      ? []
      : [`nothing leaves before ${undoUntil}; until then ${hint('writeback undo')} takes the approval back`]),
    ...(moved === 0 ? [] : renderNextSteps(decision, ids, hint)),
    ...(moved === 0 && stayed.length === 0 && decision === 'approval_undone' ? renderNothingToUndo(hint) : []),
  ].map(toPrintable)
}

function renderNothingToUndo(hint: CommandHint): string[] {
  return [
    'nothing that you approved is still in its grace',
    `to take back what others approved: ${hint('writeback undo --all')}, or --batch NAME`,
    `after the grace: ${hint('writeback stop --batch NAME')} puts back to draft what has not left`,
  ]
}

function renderStayed({ id, status, count: rows, why }: DecisionReport['stayed'][number], decision: OutboxDecision) {
  const who = id ?? formatCount(rows)
  const isOne = id !== null || rows === 1
  if (status === 'sending' && decision === 'cancelled') return `${who} ${isOne ? 'is' : 'are'} in flight: ${why}`
  return `${who} ${isOne ? 'stays' : 'stay'} ${status}: ${why}`
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

/** An approval that named other rows than there are now. `batch`: as it was typed. */
export function renderMismatch({ now, counts, steps }: SelectionMismatch, batch: string, hint: CommandHint): string[] {
  const latest = [...Map.groupBy(steps, ({ at, from, to, detail }) => `${at} ${from} ${to} ${detail}`).values()]
  const digest = now.count === 0 ? '' : `, digest ${now.digest.slice(0, 16)}`
  return [
    'nothing was approved: what you were shown has changed since',
    `now: ${pluralize(now.count, 'draft')} (${formatCounts(counts)})${digest}`,
    ...(latest.length === 0 ? [] : ['the latest steps:', ...alignColumns(latest.slice(0, 10).map(stepCells), '  ')]),
    `next: ${hint(`writeback batches show ${batch}`)} shows it again, with the digest to approve`,
  ]
}

/** Steps that differ only in their write-back are one line. */
function stepCells(steps: SelectionMismatch['steps']): string[] {
  const [step] = steps
  if (step === undefined) return []
  const { at, from, to, detail, writebackId } = step
  const which = steps.length === 1 ? shortId(writebackId) : pluralize(steps.length, 'write-back')
  return [at, which, from === null || from === to ? to : `${from} → ${to}`, detail ?? '']
}

export function renderBatchDecision(
  { batch, decision, moved, inFlight, following, notices = [] }: BatchDecisionReport,
  hint: CommandHint,
): string[] {
  const isStop = decision === 'stopped'
  const flying = pluralize(inFlight, 'write-back')
  return [
    isStop
      ? `${batch} is stopped: ${formatCount(moved)} back to draft`
      : `${batch} goes on: ${formatCount(moved)} queued`,
    ...(isStop && inFlight > 0
      ? [
          `${flying} in flight cannot be recalled; ${inFlight === 1 ? 'its outcome is' : 'their outcomes are'} found automatically`,
        ]
      : []),
    ...(following === true ? ['this is in force; the worker or the next push updates the remaining rows'] : []),
    ...notices,
    isStop
      ? `next: ${hint(`writeback resume --batch ${batch}`)} goes on`
      : `next: ${hint('push')}, unless a worker is running`,
  ].map(toPrintable)
}

/** Renders what `revert` queued, and what cannot be taken back. */
const outcomeWords: Readonly<Record<NotReverted['outcome'], string>> = {
  stands_against: 'someone changed it since; it stays as it is',
  cannot: 'cannot be taken back',
  not_known: 'not known',
  already_so: 'nothing to take back',
}

const rowsShown = 5

export function renderRevert(
  { reverts, batch, queued, counts, notReverted, notices = [] }: RevertReport,
  hint: CommandHint,
): string[] {
  const outcomes = Object.keys(outcomeWords) as NotReverted['outcome'][]
  return [
    batch === null
      ? `nothing of ${reverts} can be taken back`
      : `${pluralize(queued, 'draft')} in ${batch} take back ${reverts}`,
    ...outcomes.flatMap((outcome) => renderOutcome(outcome, counts[outcome] ?? 0, notReverted)),
    ...notices,
    ...(batch === null
      ? []
      : [
          `next: ${hint(`writeback batches show ${batch}`)} shows what would change`,
          `      ${hint(`writeback approve --batch ${batch}`)} sends it`,
        ]),
  ].map(toPrintable)
}

function renderOutcome(outcome: NotReverted['outcome'], count: number, all: RevertReport['notReverted']): string[] {
  if (count === 0) return []
  const samples = all.filter((row) => row.outcome === outcome).slice(0, rowsShown)
  const cells = samples.map(({ id, operation, target, visitorName, why }) => [
    shortId(id),
    operation,
    showInvisible(visitorName ?? target),
    showInvisible(why),
  ])
  const more = count - samples.length
  return [
    `${formatCount(count)} ${outcomeWords[outcome]}:`,
    ...alignColumns(cells, '  '),
    ...(more > 0 ? [`  … and ${formatCount(more)} more; --json lists up to a thousand`] : []),
  ]
}
