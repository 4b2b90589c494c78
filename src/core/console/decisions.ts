/** The decisions that people make in the console, and who may make which. Pure. */
import type { OutboxDecision, WritebackStatus } from '../outbox/state.ts'
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

/** The statuses that a decision changes. By ids a person also brings back what was cancelled or has expired. */
export function changedStatuses(decision: DecisionName, isByIds: boolean): readonly WritebackStatus[] {
  switch (decision) {
    case 'approve':
      return ['draft']
    case 'cancel':
      return ['draft', 'queued']
    case 'retry':
      return isByIds ? ['failed', 'conflict', ...withheld] : ['failed', 'conflict']
    case 'arrived':
    case 'lost':
      return ['uncertain']
    case 'undo':
    case 'stop':
    case 'revert':
      return ['queued']
    case 'resume':
      return ['draft', 'queued']
  }
}

/** They were withheld, perhaps before anyone had approved them. */
const withheld = ['cancelled', 'expired'] as const satisfies readonly WritebackStatus[]

/** `createdBy`: of all of them; null = not known, or several people. `isByIds`: not a whole batch. */
export type DecisionSubject = {
  readonly createdBy: string | null
  readonly statuses: readonly WritebackStatus[]
  readonly isByIds: boolean
}

/** Null: this person may; otherwise the role that it needs. */
export function missingRole(
  { name, role }: Pick<Viewer, 'name' | 'role'>,
  decision: DecisionName,
  { createdBy, statuses, isByIds }: DecisionSubject,
): Role | null {
  const changed = changedStatuses(decision, isByIds).filter((status) => statuses.includes(status))
  const needed = neededRole(decision, changed, createdBy === name)
  return hasRole(role, needed) ? null : needed
}

/** `changed`: the statuses of the rows that the decision changes. */
function neededRole(decision: DecisionName, changed: readonly WritebackStatus[], isOwn: boolean): Role {
  if (decision === 'cancel' && isOwn && changed.every((status) => status === 'draft')) return 'operator'
  if (decision === 'retry' && changed.some((status) => withheld.some((it) => it === status))) return 'approver'
  return roleOf[decision]
}

/** Imports in the browser always become drafts. */
export const importRole: Role = 'operator'

/** These take effect at once: they send nothing that could not be called back a moment later. */
export function needsConfirmation(decision: DecisionName): boolean {
  return decision === 'approve' || decision === 'cancel' || decision === 'retry' || decision === 'resume'
}
