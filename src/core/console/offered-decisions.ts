/** Which decisions a batch or a write-back allows as it is now, from one set of facts. Pure. */
import type { BatchReport } from '../outbox/batches.ts'
import type { NamedEntry } from '../outbox/named-entry.ts'
import { presentStatuses } from '../outbox/state.ts'
import type { EpochMs } from '../time.ts'
import { type DecisionName, type DecisionSubject, missingRole } from './decisions.ts'
import type { Viewer } from './roles.ts'

/** `approveOwn`: whether people may approve what they queued themselves. */
export type DecidingViewer = { readonly viewer: Pick<Viewer, 'name' | 'role'>; readonly approveOwn: boolean }

/** `undoUntil`: RFC 3339; null = no approval can be taken back. */
export function offeredForBatch(
  { batch, approval, revertible }: Pick<BatchReport, 'batch' | 'approval' | 'revertible'>,
  undoUntil: string | null,
  deciding: DecidingViewer,
  now: EpochMs,
): readonly DecisionName[] {
  const { draft = 0, queued = 0, sending = 0, failed = 0, conflict = 0 } = batch.counts
  const isStopped = batch.stoppedAt !== null
  const allowed: Record<DecisionName, boolean> = {
    approve: approval !== null,
    undo: isUndoable(undoUntil, now),
    stop: queued > 0 && !isStopped,
    resume: isStopped && draft > 0,
    cancel: draft + queued > 0,
    retry: failed + conflict > 0,
    arrived: false,
    lost: false,
    revert: revertible > 0 && queued + sending === 0,
  }
  return offered(allowed, deciding, {
    createdBy: batch.createdBy,
    statuses: presentStatuses(batch.counts),
    isByIds: false,
  })
}

export function offeredForWriteback(
  { status, stoppedBy, undoUntil, createdBy }: Pick<NamedEntry, 'status' | 'stoppedBy' | 'undoUntil' | 'createdBy'>,
  deciding: DecidingViewer,
  now: EpochMs,
): readonly DecisionName[] {
  const isSettled = status === 'failed' || status === 'conflict' || status === 'cancelled' || status === 'expired'
  const allowed: Record<DecisionName, boolean> = {
    approve: status === 'draft' && stoppedBy === null,
    undo: status === 'queued' && isUndoable(undoUntil, now),
    stop: false,
    resume: false,
    cancel: status === 'draft' || status === 'queued',
    retry: isSettled,
    arrived: status === 'uncertain',
    lost: status === 'uncertain',
    revert: false,
  }
  return offered(allowed, deciding, { createdBy, statuses: [status], isByIds: true })
}

function isUndoable(undoUntil: string | null, now: EpochMs): boolean {
  return undoUntil !== null && Date.parse(undoUntil) > now
}

function offered(
  allowed: Readonly<Record<DecisionName, boolean>>,
  { viewer, approveOwn }: DecidingViewer,
  subject: DecisionSubject,
): readonly DecisionName[] {
  const names = Object.keys(allowed) as DecisionName[]
  return names.filter((name) => {
    if (!allowed[name] || missingRole(viewer, name, subject) !== null) return false
    return name !== 'approve' || approveOwn || subject.createdBy !== viewer.name
  })
}
