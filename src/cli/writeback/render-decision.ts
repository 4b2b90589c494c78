/** Renders what a decision changed, what it did not, and what comes next. */
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount, pluralize } from '../../core/format.ts'
import type { BatchDecisionReport, SelectionMismatch } from '../../core/outbox/batches.ts'
import type { DecisionReport } from '../../core/outbox/reports.ts'
import type { OutboxDecision } from '../../core/outbox/state.ts'
import { formatCounts } from '../render/outbox.ts'
import { alignColumns } from '../render/table.ts'

const resultWords: Readonly<Record<OutboxDecision, string>> = {
  approved: 'queued',
  approval_undone: 'back to draft',
  cancelled: 'cancelled',
  retried: 'queued again',
  arrived: 'succeeded',
  lost: 'failed',
}

export function renderDecision(report: DecisionReport, decision: OutboxDecision, hint: CommandHint): string[] {
  const { moved, ids, stayed, following, undoUntil } = report
  return [
    `${formatCount(moved)} ${resultWords[decision]}`,
    ...stayed.map((rows) => renderStayed(rows, decision)),
    ...(following === true
      ? ['none of them will be sent; the worker or the next push updates the remaining rows']
      : []),
    ...(undoUntil === undefined
      ? []
      : [`nothing leaves before ${undoUntil}; until then ${hint('writeback undo')} takes the approval back`]),
    ...(moved === 0 ? [] : renderNextSteps(decision, ids, hint)),
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

/** An approval that named other rows than there are now. */
export function renderMismatch({ now, counts, steps }: SelectionMismatch, hint: CommandHint): string[] {
  const recent = steps
    .slice(0, 10)
    .map(({ writebackId, at, from, to, detail }) => [
      at,
      writebackId,
      from === null || from === to ? to : `${from} → ${to}`,
      detail ?? '',
    ])
  return [
    'nothing was approved: what you were shown has changed since',
    `now: ${pluralize(now.count, 'draft')} (${formatCounts(counts)}), digest ${now.digest.slice(0, 16)}`,
    ...(recent.length === 0 ? [] : ['the latest steps:', ...alignColumns(recent)]),
    `next: ${hint('writeback batches show NAME')} shows it again, with the digest to approve`,
  ]
}

export function renderBatchDecision(
  { batch, decision, moved, inFlight, following }: BatchDecisionReport,
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
    isStop
      ? `next: ${hint(`writeback resume --batch ${batch}`)} goes on`
      : `next: ${hint('push')}, unless a worker is running`,
  ]
}
