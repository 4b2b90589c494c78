/** The decisions that people make in the console, and who may make which. Pure. */
import type { OutboxDecision } from '../outbox/state.ts'
import { hasRole, type Role, type Viewer } from './roles.ts'

export const decisionNames = [
  'approve',
  'undo',
  'stop',
  'resume',
  'cancel',
  'retry',
  'arrived',
  'lost',
  'revert',
] as const
export type DecisionName = (typeof decisionNames)[number]

export function isDecision(name: string | null): name is DecisionName {
  return decisionNames.some((known) => known === name)
}

/** What customers see, or what stops it, needs an approver. Failures and uncertain outcomes are an operator's work. */
const roleOf: Readonly<Record<DecisionName, Role>> = {
  approve: 'approver',
  undo: 'approver',
  stop: 'approver',
  resume: 'approver',
  cancel: 'approver',
  retry: 'operator',
  arrived: 'operator',
  lost: 'operator',
  revert: 'approver',
}

/** Of decisions about write-backs; the others are about a whole batch. */
export const outboxDecisionOf = {
  approve: 'approved',
  undo: 'approval_undone',
  cancel: 'cancelled',
  retry: 'retried',
  arrived: 'arrived',
  lost: 'lost',
} as const satisfies Partial<Record<DecisionName, OutboxDecision>>

/** As the audit log names what was done. */
export const decisionEvents: Readonly<Record<DecisionName, string>> = {
  approve: 'approved',
  undo: 'approval_undone',
  stop: 'stopped',
  resume: 'resumed',
  cancel: 'cancelled',
  retry: 'sent_again',
  arrived: 'said_it_arrived',
  lost: 'said_it_did_not_arrive',
  revert: 'taken_back',
}

/** Whose drafts they are: an operator may cancel their own. */
export type DecisionSubject = { readonly createdBy: string | null; readonly isDraft: boolean }

/** Null: this person may; otherwise the role that it needs. */
export function missingRole(
  { name, role }: Pick<Viewer, 'name' | 'role'>,
  decision: DecisionName,
  { createdBy, isDraft }: DecisionSubject,
): Role | null {
  const isOwnDraft = decision === 'cancel' && isDraft && createdBy === name
  const needed = isOwnDraft ? 'operator' : roleOf[decision]
  return hasRole(role, needed) ? null : needed
}

/** Imports in the browser always become drafts. */
export const importRole: Role = 'operator'

/** These take effect at once: they send nothing that could not be called back a moment later. */
export function needsConfirmation(decision: DecisionName): boolean {
  return decision === 'approve' || decision === 'cancel' || decision === 'retry' || decision === 'resume'
}
