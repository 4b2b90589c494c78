/** Renders what decisions about write-backs and batches changed, and what comes next. */
import type { BatchDecisionReport, NotReverted, RevertReport, SelectionMismatch } from '../../outbox/core/batches.ts'
import { decisionOf, type OutboxDecision } from '../../outbox/core/decisions.ts'
import type { DecisionReport } from '../../outbox/core/reports.ts'
import { shortId } from '../../outbox/core/review-labels.ts'
import { formatCount, pluralize, toPrintable } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { CommandHint } from '../../values/user-error.ts'
import { formatCounts, renderMore } from '../render/outbox.ts'
import { alignColumns } from '../render/table.ts'

export function renderDecision(report: DecisionReport, decision: OutboxDecision, hint: CommandHint): string[] {
  const { moved, ids, stayed, following, undoUntil, notices = [] } = report
  const undo = `nothing leaves before ${undoUntil}; until then ${hint('writeback undo')} takes the approval back`
  return [
    `${formatCount(moved)} ${decisionOf(decision).made}`,
    ...stayed.map((rows) => renderStayed(rows, decision)),
    ...(following ? ['none of them will be sent; the worker or the next push updates the remaining rows'] : []),
    ...notices,
    ...(undoUntil === undefined ? [] : [undo]),
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
  if (decision === 'approved' || decision === 'retried') return [`next: ${hint('push')}, unless a worker is running`]
  if (decision !== 'lost') return []
  if (ids.length > 3) return [`next: ${hint('writeback retry')} with their ids sends them again`]
  return [`next: ${hint(`writeback retry ${ids.join(' ')}`)} sends ${ids.length === 1 ? 'it' : 'them'} again`]
}

/** An approval that named other rows than there are now. `batch`: as it was typed. */
export function renderMismatch({ now, counts, steps }: SelectionMismatch, batch: string, hint: CommandHint): string[] {
  // Steps that differ only in their write-back are one line.
  const latest = [...Map.groupBy(steps, ({ at, from, to, detail }) => `${at} ${from} ${to} ${detail}`).values()]
  const cells = latest.slice(0, 10).flatMap(([step, ...others]) => {
    if (step === undefined) return []
    const { at, from, to, detail, writebackId } = step
    const which = others.length === 0 ? shortId(writebackId) : pluralize(others.length + 1, 'write-back')
    return [[at, which, from === null || from === to ? to : `${from} → ${to}`, detail ?? '']]
  })
  const digest = now.count === 0 ? '' : `, digest ${now.digest.slice(0, 16)}`
  return [
    'nothing was approved: what you were shown has changed since',
    `now: ${pluralize(now.count, 'draft')} (${formatCounts(counts)})${digest}`,
    ...(cells.length === 0 ? [] : ['the latest steps:', ...alignColumns(cells, '  ')]),
    `next: ${hint(`writeback batches show ${batch}`)} shows it again, with the digest to approve`,
  ]
}

export function renderBatchDecision(report: BatchDecisionReport, hint: CommandHint): string[] {
  const { batch, decision, moved, inFlight, following, notices = [] } = report
  const around = [
    ...(following ? ['this is in force; the worker or the next push updates the remaining rows'] : []),
    ...notices,
  ]
  if (decision === 'resumed') {
    const next = `next: ${hint('push')}, unless a worker is running`
    return [`${batch} goes on: ${formatCount(moved)} queued`, ...around, next].map(toPrintable)
  }
  const outcome = inFlight === 1 ? 'its outcome is' : 'their outcomes are'
  const flying = `${pluralize(inFlight, 'write-back')} in flight cannot be recalled; ${outcome} found automatically`
  return [
    `${batch} is stopped: ${formatCount(moved)} back to draft`,
    ...(inFlight > 0 ? [flying] : []),
    ...around,
    `next: ${hint(`writeback resume --batch ${batch}`)} goes on`,
  ].map(toPrintable)
}

const outcomeWords: Readonly<Record<NotReverted['outcome'], string>> = {
  stands_against: 'someone changed it since; it stays as it is',
  cannot: 'cannot be taken back',
  not_known: 'not known',
  already_so: 'nothing to take back',
}

const rowsShown = 5

/** What `revert` queued, and what cannot be taken back. */
export function renderRevert(report: RevertReport, hint: CommandHint): string[] {
  const { reverts, batch, queued, notices = [] } = report
  const outcomes = Object.keys(outcomeWords) as NotReverted['outcome'][]
  const left = outcomes.flatMap((outcome) => renderNotReverted(outcome, report))
  if (batch === null) return [`nothing of ${reverts} can be taken back`, ...left, ...notices].map(toPrintable)
  return [
    `${pluralize(queued, 'draft')} in ${batch} take back ${reverts}`,
    ...left,
    ...notices,
    `next: ${hint(`writeback batches show ${batch}`)} shows what would change`,
    `      ${hint(`writeback approve --batch ${batch}`)} sends it`,
  ].map(toPrintable)
}

function renderNotReverted(outcome: NotReverted['outcome'], { counts, notReverted }: RevertReport): string[] {
  const count = counts[outcome] ?? 0
  if (count === 0) return []
  const samples = notReverted.filter((row) => row.outcome === outcome).slice(0, rowsShown)
  const cells = samples.map(({ id, operation, target, visitorName, why }) => [
    ...[shortId(id), operation, showInvisible(visitorName ?? target), showInvisible(why)],
  ])
  const title = `${formatCount(count)} ${outcomeWords[outcome]}:`
  const more = renderMore(count, samples.length, '; --json lists up to a thousand')
  return [title, ...alignColumns(cells, '  '), ...more]
}
