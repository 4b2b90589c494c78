/** One that was sent and got no answer: looks what became of it. */
import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import type { Verification } from '../operations/operation-handler.ts'
import { verificationsNeeded, maxSends } from '../send/send-policy.ts'
import { refreshMirror } from '../send/refresh-mirror.ts'
import { type SendTaskResult, toTaskResult, settleTask, type SendTask } from '../send/send-task.ts'

/** Throws CallFailed where it cannot look now. */
export async function verifySend(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback, handler, request } = task
  const verification = await handler.verify(deps, writeback, request).catch(toUnverifiable)
  return verification.kind === 'absent' ? settleAbsent(task) : settleVerification(task, verification)
}

/** Once more, just before it goes again; null: it is still not there. */
export async function verifyBeforeResend(task: SendTask): Promise<SendTaskResult | null> {
  const { deps, writeback, handler, request } = task
  const verification = await handler.verify(deps, writeback, request).catch(toUnverifiable)
  return verification.kind === 'absent' ? null : settleVerification(task, verification)
}

/** Whom it was about is gone, and with it every trace. */
function toUnverifiable(error: unknown): Verification {
  if (!(error instanceof ApiError) || !isRefusedByService(error.failure)) throw error
  return { kind: 'unknowable', why: describeFailure(error.failure) }
}

async function settleVerification(task: SendTask, verification: Exclude<Verification, { kind: 'absent' }>): Promise<SendTaskResult> {
  if (verification.kind === 'unknowable') return settleTask(task, { event: 'unknowable', why: verification.why })
  const { how, messageId } = verification
  const answerStatus = task.writeback.evidence.status
  const answer = answerStatus === undefined ? 'no answer came' : `the answer was no proof (${answerStatus})`
  const transition = { happening: 'found', why: `${answer}, but ${how}`, evidence: { found: how } } as const
  const status = await task.deps.outbox.settle(task.writeback, messageId === undefined ? transition : { ...transition, messageId })
  if (status !== null) await refreshMirror(task, null)
  return toTaskResult(status)
}

async function settleAbsent(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback } = task
  const verifications = (writeback.evidence.looks ?? 0) + 1
  if (verifications < verificationsNeeded) {
    const why = 'it is not there; it is looked for once more'
    return settleTask(task, { event: 'unanswered', why, evidence: { looks: verifications }, dueAt: deps.now() + deps.verifyAfterMs })
  }
  const claim = writeback.evidence.claim
  if (claim?.says === 'refused') return settleTask(task, { event: 'refused', why: claim.why })
  const whyNot = whyNotResend(task)
  if (whyNot !== null) return settleTask(task, { event: 'unknowable', why: whyNot })
  const next = writeback.revokedAs === null ? 'it goes once more' : `it was ${writeback.revokedAs} meanwhile, and does not go again`
  return settleTask(task, { event: 'absent', why: `it is not there: ${next}` })
}

/** Null: it may go once more. */
function whyNotResend({ deps, writeback, handler }: SendTask): string | null {
  if (writeback.revokedAs === null && writeback.attempts >= maxSends)
    return `it was sent ${writeback.attempts} times, and no answer proved what became of it`
  if (handler.isIdempotent) return null
  // Who has taken it may do it still.
  if (writeback.evidence.claim?.says === 'accepted')
    return `it is not there, but the service has taken it: ${writeback.evidence.claim.why}`
  // A process that was only stopped goes on where it was: it might send after all.
  if (writeback.evidence.sender === 'silent') return 'it is not there, but the process that was to send it may still live'
  return deps.resendReplies || writeback.revokedAs !== null
    ? null
    : 'it is not there, and replies are not sent again by themselves (resend_replies)'
}
