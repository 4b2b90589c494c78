/** Which write-backs a decision is about, from what was typed. */
import { Option } from 'commander'
import type { OutboxFilter } from '../../core/outbox/admin.ts'
import { type ReviewOutcome, reviewOutcomes } from '../../core/outbox/review.ts'
import type { OutboxDecision, WritebackStatus } from '../../core/outbox/state.ts'
import { type Operation, operations } from '../../core/outbox/writeback-request.ts'
import { UserError } from '../../core/user-error.ts'
import { parseChoices } from '../options.ts'

export type SelectionOptions = {
  readonly batch?: string
  readonly all?: true
  readonly status?: readonly WritebackStatus[]
  readonly operation?: readonly Operation[]
  readonly outcome?: readonly ReviewOutcome[]
}

export const operationOption = () =>
  new Option('--operation <a,b>', `only these operations: ${operations.join(', ')}`).argParser(parseChoices(operations))

export const outcomeOption = () =>
  new Option(
    '--outcome <a,b>',
    `of a batch: only what would do this, according to the mirror: ${reviewOutcomes.join(', ')}`,
  ).argParser(parseChoices(reviewOutcomes))

/** Requires exactly one kind of selection, so that no one cancels or sends more than intended. */
export function toSelection(
  decision: OutboxDecision,
  ids: readonly string[],
  { batch, all, status, operation }: SelectionOptions,
): OutboxFilter {
  const selections = [ids.length > 0, batch !== undefined || status !== undefined, all === true].filter(Boolean)
  if (selections.length > 1) throw unclearSelectionError('give only one of ids, --batch and --all')
  const restriction = operation === undefined ? {} : { operations: operation }
  if (ids.length > 0) return { ids, ...restriction }
  if (all === true) return restriction
  if (selections.length === 0) throw unclearSelectionError(selectionHints[decision])
  const statuses = decision === 'retried' ? (status ?? ['failed' as const]) : undefined
  return {
    ...(batch === undefined ? {} : { batch }),
    ...(statuses === undefined ? {} : { statuses }),
    ...restriction,
  }
}

const selectionHints: Readonly<Record<OutboxDecision, string>> = {
  approved: 'give ids, or --batch, or --all',
  approval_undone: 'give ids, or --batch, or --all',
  cancelled: 'give ids, or --batch, or --all',
  retried: 'give ids, or --batch, or --status failed',
  arrived: 'give ids',
  lost: 'give ids',
}

export function unclearSelectionError(next: string, why = 'it is unclear which write-backs to select'): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}
