/** What became of one that was sent, by the evidence: an answer, a refusal, nothing that left, or silence. */
import type { ApiResponse } from '../../core/api-request.ts'
import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import { assertNever } from '../../core/assert-never.ts'
import type { Transition } from '../../core/outbox/repository.ts'
import type { SendAttempt } from './attempt-send.ts'
import type { ReadyToSend } from '../operations/operation-handler.ts'
import { backOffMs } from './send-policy.ts'
import { refreshMirror } from './refresh-mirror.ts'
import { type SendTaskResult, toTaskResult, verifyDelayMs, type SendTask } from './send-task.ts'

/** Throws CallFailed where the key is denied: nothing was done, and it is queued again. */
export async function classifyResult(task: SendTask, ready: ReadyToSend, attempt: Exclude<SendAttempt, string>): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  if ('answer' in attempt) return settleAccepted(task, ready, attempt.answer)
  const { failure } = attempt
  const transition = await toTransition(task, ready, failure)
  const status = await deps.outbox.settleSent(writeback, transition)
  if (failure.kind === 'denied') throw new ApiError(failure)
  // Where there is nothing to look for, there is nothing to wait for.
  if (status === 'sending' && handler.verifyDelayFactor === 0) {
    return toTaskResult(await deps.outbox.settleSent(writeback, { event: 'unknowable', why: transition.why }))
  }
  const isServiceFailure = failure.kind === 'throttled' || (failure.kind === 'transient' && !failure.left)
  return toTaskResult(status, isServiceFailure ? failure : null)
}

async function toTransition(task: SendTask, { body }: ReadyToSend, failure: ApiFailure): Promise<Transition> {
  const { deps, writeback, handler } = task
  const now = deps.now()
  switch (failure.kind) {
    case 'aborted':
      return { event: 'undone', why: 'stopped before it left' }
    case 'throttled':
    case 'denied':
      return { event: 'undone', why: failure.why, requestId: failure.requestId }
    case 'refused': {
      const { why, requestId, status } = failure
      const correction = (await handler.interpretRefusal?.(deps, writeback, failure, body)) ?? null
      return correction ?? { event: 'refused', why, requestId, evidence: { status } }
    }
    case 'transient': {
      const { why, requestId, status, left, claim } = failure
      const tries = (writeback.evidence.tries ?? 0) + 1
      if (!left) return { event: 'undone', why, evidence: { tries }, dueAt: now + backOffMs(tries, deps.random()) }
      const claimEvidence = claim === undefined ? {} : { claim: { says: claim, why } }
      const evidence = { sender: 'ended', tries: 0, ...(status === null ? {} : { status }), ...claimEvidence } as const
      return { event: 'unanswered', why, requestId, evidence, dueAt: now + verifyDelayMs(task) }
    }
    default:
      return assertNever(failure)
  }
}

/** Done. That the mirror cannot show it just now would change nothing about its fate. */
async function settleAccepted(task: SendTask, { body, before }: ReadyToSend, answer: ApiResponse): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  const { status, requestId } = answer
  const observedBehaviours = handler.toObservedBehaviours?.(body) ?? []
  const why = `the service answered ${status}`
  const settledStatus = await deps.outbox.settleSent(writeback, { event: 'accepted', why, requestId, evidence: { status }, observedBehaviours })
  const sentWriteback = { ...writeback, evidence: { ...writeback.evidence, before } }
  if (settledStatus !== null) await refreshMirror({ ...task, writeback: sentWriteback }, answer)
  return toTaskResult(settledStatus)
}
