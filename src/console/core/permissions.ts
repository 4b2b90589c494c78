/**
 * Which decisions the person who looks at a page may make, about a batch or a write-back as it is
 * now. Pure.
 */

import { hasRole, type Role, type Viewer } from '../../config/people.ts'
import { isQueuedBy } from '../../outbox/core/decision-terms.ts'
import { changedStatuses, decisionNames, decisions } from '../../outbox/core/decisions.ts'
import { presentStatuses } from '../../outbox/core/state.ts'
import type {
  BatchReport,
  DecisionName,
  NamedEntry,
  SendingFacts,
  WritebackStatus,
} from '../../outbox/outbox.ts'

/**
 * `createdBy`: of all of them; null = not known, or several people. `isByIds`: not a whole batch.
 */
export type DecisionSubject = {
  readonly createdBy: string | null
  readonly statuses: readonly WritebackStatus[]
  readonly isByIds: boolean
  /** An earlier send of one of them may have arrived. */
  readonly mayHaveArrived?: boolean
}

/** Null: this person may; otherwise the role that it needs. */
export function missingRole(
  { name, role }: Pick<Viewer, 'name' | 'role'>,
  decision: DecisionName,
  { createdBy, statuses, isByIds, mayHaveArrived = false }: DecisionSubject,
): Role | null {
  const { roleForOwn, roleForStatuses, roleIfMayHaveArrived, ...record } = decisions[decision]
  const changed = changedStatuses(decision, isByIds).filter((status) => statuses.includes(status))
  const isOwn =
    isQueuedBy(createdBy, name) && changed.every((status) => status === roleForOwn?.status)
  const isRestricted = changed.some((status) => roleForStatuses?.statuses.includes(status))
  const ofRows = isOwn ? roleForOwn?.role : isRestricted ? roleForStatuses?.role : undefined
  const needed = (mayHaveArrived ? roleIfMayHaveArrived : undefined) ?? ofRows ?? record.role
  return hasRole(role, needed) ? null : needed
}

/** Imports in the browser always become drafts. */
export const draftRole: Role = 'operator'

/** `canDecide`: whether anything can be decided here; `approveOwn`: by people about their own. */
type Deciding = Readonly<Record<'canDecide' | 'approveOwn', boolean>> & {
  readonly viewer: Pick<Viewer, 'name' | 'role'> | null
}

type OfferedReport = Pick<BatchReport, 'batch' | 'revertible'>

export function offeredForBatch(
  report: OfferedReport,
  undoUntil: string | null,
  deciding: Deciding,
): readonly DecisionName[] {
  return allowedForBatch(report, undoUntil).filter(
    (name) => !isWithheld(name, deciding, subjectOf(report.batch)),
  )
}

/** `only_shown`: by nobody here. `own`: this person queued it. `role`: what it takes. */
export type Withheld = {
  readonly decision: DecisionName
  readonly why: 'only_shown' | 'own' | 'role'
  readonly role: Role
}

/** The first of what people come for that this person may not decide; null: there is none. */
export function withheldForBatch(
  report: OfferedReport,
  undoUntil: string | null,
  deciding: Deciding,
): Withheld | null {
  const subject = subjectOf(report.batch)
  const usual = allowedForBatch(report, undoUntil).filter(
    (name) => decisions[name].isUsual === true,
  )
  const [decision] = usual.filter((name) => isWithheld(name, deciding, subject))
  if (decision === undefined) return null
  const role = deciding.viewer === null ? null : missingRole(deciding.viewer, decision, subject)
  const why = deciding.canDecide ? (role === null ? 'own' : 'role') : 'only_shown'
  return { decision, why, role: role ?? decisions[decision].role }
}

/** What its state allows, whoever looks at it. */
function allowedForBatch(
  { batch, ...report }: OfferedReport,
  undoUntil: string | null,
): readonly DecisionName[] {
  const facts = { ...report, counts: batch.counts, isStopped: batch.stoppedAt !== null, undoUntil }
  return decisionNames.filter((name) => decisions[name].isOfferedForBatch?.(facts))
}

function subjectOf({ createdBy, counts }: OfferedReport['batch']): DecisionSubject {
  return { createdBy, statuses: presentStatuses(counts), isByIds: false }
}

export function offeredForSending(
  facts: SendingFacts,
  deciding: Deciding,
): readonly DecisionName[] {
  const allowed = decisionNames.filter((name) => decisions[name].isOfferedForSending?.(facts))
  const subject = { createdBy: null, statuses: [], isByIds: false }
  return allowed.filter((name) => !isWithheld(name, deciding, subject))
}

export function offeredForWriteback(
  { status, stoppedBy, createdBy }: Pick<NamedEntry, 'status' | 'stoppedBy' | 'createdBy'>,
  undoUntil: string | null,
  deciding: Deciding,
  mayHaveArrived = false,
): readonly DecisionName[] {
  const allowed = decisionNames.filter((name) => {
    const { about, from, isOfferedForWriteback } = decisions[name]
    return (
      about === 'writebacks' &&
      from.includes(status) &&
      isOfferedForWriteback?.({ stoppedBy, undoUntil }) !== false
    )
  })
  const subject = { createdBy, statuses: [status], isByIds: true, mayHaveArrived }
  return allowed.filter((name) => !isWithheld(name, deciding, subject))
}

/** Also from a person who has the role: nobody approves their own where that is off. */
export function isWithheld(
  name: DecisionName,
  { viewer, canDecide, approveOwn }: Deciding,
  subject: DecisionSubject,
): boolean {
  if (viewer === null || !canDecide || missingRole(viewer, name, subject) !== null) return true
  const isApproval = name === 'approve' || (name === 'retry' && subject.mayHaveArrived === true)
  return isApproval && !approveOwn && isQueuedBy(subject.createdBy, viewer.name)
}
