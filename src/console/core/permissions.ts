/** Which decisions the person who looks at a page may make, about a batch or a write-back as it is now. Pure. */

import { hasRole, type Role, type Viewer } from '../../config/people.ts'
import { changedStatuses, decisionNames, decisions } from '../../outbox/core/decisions.ts'
import { presentStatuses } from '../../outbox/core/state.ts'
import type { BatchReport, DecisionName, NamedEntry, WritebackStatus } from '../../outbox/outbox.ts'

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
  const { roleForOwn, roleForStatuses, ...record } = decisions[decision]
  const changed = changedStatuses(decision, isByIds).filter((status) => statuses.includes(status))
  const isOwn = createdBy === name && changed.every((status) => status === roleForOwn?.status)
  const isRestricted = changed.some((status) => roleForStatuses?.statuses.includes(status))
  const needed = (isOwn ? roleForOwn?.role : isRestricted ? roleForStatuses?.role : undefined) ?? record.role
  return hasRole(role, needed) ? null : needed
}

/** Imports in the browser always become drafts. */
export const importRole: Role = 'operator'

/** `approveOwn`: whether people may approve what they queued themselves. */
type Deciding = {
  readonly viewer: Pick<Viewer, 'name' | 'role'> | null
  /** Whether anything can be decided here. */
  readonly canDecide: boolean
  readonly approveOwn: boolean
}

export function offeredForBatch(
  { batch, ...report }: Pick<BatchReport, 'batch' | 'approval' | 'revertible'>,
  undoUntil: string | null,
  deciding: Deciding,
): readonly DecisionName[] {
  const { counts, createdBy, stoppedAt } = batch
  const facts = { ...report, counts, isStopped: stoppedAt !== null, undoUntil }
  const allowed = decisionNames.filter((name) => decisions[name].isOfferedForBatch?.(facts))
  return restrictToRole(allowed, deciding, { createdBy, statuses: presentStatuses(counts), isByIds: false })
}

export function offeredForWriteback(
  { status, stoppedBy, createdBy }: Pick<NamedEntry, 'status' | 'stoppedBy' | 'createdBy'>,
  undoUntil: string | null,
  deciding: Deciding,
): readonly DecisionName[] {
  const allowed = decisionNames.filter((name) => {
    const { isAboutBatch, from, isOfferedForWriteback } = decisions[name]
    return !isAboutBatch && from.includes(status) && isOfferedForWriteback?.({ stoppedBy, undoUntil }) !== false
  })
  return restrictToRole(allowed, deciding, { createdBy, statuses: [status], isByIds: true })
}

function restrictToRole(
  allowed: readonly DecisionName[],
  { viewer, canDecide, approveOwn }: Deciding,
  subject: DecisionSubject,
): readonly DecisionName[] {
  if (viewer === null || !canDecide) return []
  return allowed.filter((name) => {
    if (missingRole(viewer, name, subject) !== null) return false
    return name !== 'approve' || approveOwn || subject.createdBy !== viewer.name
  })
}
