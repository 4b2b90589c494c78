/** Finds out whether a send without a response arrived. */
import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import { operationTypes } from '../../core/outbox/writeback-request.ts'
import type { Verification } from '../operations/operation-handler.ts'
import {
  maxSends,
  refreshMirror,
  type SendTask,
  type SendTaskResult,
  settleTask,
  toTaskResult,
  verificationsNeeded,
} from '../send/send-task.ts'

/** Throws ApiError if the service cannot be read now. */
export async function verifySend(task: SendTask): Promise<SendTaskResult> {
  const verification = await runVerification(task)
  return verification.kind === 'absent' ? settleAbsent(task) : settleVerification(task, verification)
}

/** Verifies once more just before a resend. Null if it did not arrive, so that it can be sent again. */
export async function verifyBeforeResend(task: SendTask): Promise<SendTaskResult | null> {
  const verification = await runVerification(task)
  return verification.kind === 'absent' ? null : settleVerification(task, verification)
}

async function runVerification(task: SendTask): Promise<Verification> {
  return task.handler.verify(task).catch((error: unknown) => {
    // The target no longer exists, so nothing can be verified.
    if (!(error instanceof ApiError) || !isRefusedByService(error.failure)) throw error
    return { kind: 'unverifiable', why: describeFailure(error.failure) }
  })
}

async function settleVerification(
  task: SendTask,
  verification: Exclude<Verification, { kind: 'absent' }>,
): Promise<SendTaskResult> {
  if (verification.kind === 'unverifiable') return settleTask(task, { event: 'unverifiable', why: verification.why })
  const { how, messageId } = verification
  const { status: answered } = task.writeback.evidence
  const response = answered === undefined ? 'no response came' : `the response proved nothing (${answered})`
  const transition = { event: 'found', why: `${response}, but ${how}`, evidence: { found: how } } as const
  const found = messageId === undefined ? transition : { ...transition, messageId }
  const status = await task.deps.outbox.settle(task.writeback, found)
  if (status !== null) await refreshMirror(task, null)
  return toTaskResult(status, transition.why)
}

async function settleAbsent(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback } = task
  const verifications = (writeback.evidence.verifications ?? 0) + 1
  if (verifications < verificationsNeeded) {
    const why = 'it was not found; it will be verified again'
    const dueAt = deps.now() + deps.verifyAfterMs
    return settleTask(task, { event: 'not_found_yet', why, evidence: { verifications }, dueAt })
  }
  const { statedResult } = writeback.evidence
  if (statedResult?.says === 'refused') return settleTask(task, { event: 'refused', why: statedResult.why })
  const blocker = resendBlocker(task)
  if (blocker !== null) return settleTask(task, { event: 'unverifiable', why: blocker })
  const revoked = `it was ${writeback.revokedAs} meanwhile and will not be sent again`
  const next = writeback.revokedAs === null ? 'it will be sent again' : revoked
  return settleTask(task, { event: 'absent', why: `it was not found: ${next}` })
}

/** Null if it may be sent again. */
function resendBlocker({ deps, writeback }: SendTask): string | null {
  if (writeback.revokedAs === null && writeback.attempts >= maxSends)
    return `it was sent ${writeback.attempts} times, and no response proved its outcome`
  if (operationTypes[writeback.operation].isIdempotent) return null
  // A service that accepted the request may still carry it out.
  if (writeback.evidence.statedResult?.says === 'accepted')
    return `it was not found, but the service accepted it: ${writeback.evidence.statedResult.why}`
  // A suspended process may resume and still send.
  if (writeback.evidence.sender === 'silent') return 'it was not found, but the sending process may still be alive'
  return deps.resendReplies || writeback.revokedAs !== null
    ? null
    : 'it was not found, and replies are not resent automatically (resend_replies)'
}
