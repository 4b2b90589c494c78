/** Classifies the result of a send: accepted, refused, not sent, or no response. */

import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import { assertNever } from '../../core/assert-never.ts'
import type { Transition } from '../../core/outbox/repository.ts'
import type { ReadyToSend } from '../operations/operation-handler.ts'
import type { SendAttempt } from './attempt-send.ts'
import { refreshMirror } from './refresh-mirror.ts'
import { backOffMs, type SendTask, type SendTaskResult, toTaskResult, verifyDelayMs } from './send-task.ts'

/** Throws ApiError if the key is denied; the write-back is queued again first. */
export async function classifyResult(
  task: SendTask,
  ready: ReadyToSend,
  attempt: Exclude<SendAttempt, string>,
): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  if ('answer' in attempt) return settleAccepted(task, ready, attempt.answer)
  const { failure } = attempt
  const transition = await toTransition(task, ready, failure)
  const status = await deps.outbox.settleSent(writeback, transition)
  if (failure.kind === 'denied') throw new ApiError(failure)
  // An operation that cannot be verified need not wait.
  if (status === 'sending' && handler.verifyDelayFactor === 0) {
    return toTaskResult(await deps.outbox.settleSent(writeback, { event: 'unverifiable', why: transition.why }))
  }
  const isServiceFailure = failure.kind === 'throttled' || (failure.kind === 'transient' && !failure.mayHaveBeenSent)
  return toTaskResult(status, isServiceFailure ? failure : null)
}

async function toTransition(task: SendTask, { body }: ReadyToSend, failure: ApiFailure): Promise<Transition> {
  const { deps, writeback, handler } = task
  const now = deps.now()
  switch (failure.kind) {
    case 'aborted':
      return { event: 'not_sent', why: 'stopped before it was sent' }
    case 'throttled':
    case 'denied':
      return { event: 'not_sent', why: failure.why, requestId: failure.requestId }
    case 'refused': {
      const { why, requestId, status } = failure
      const correction = (await handler.interpretRefusal?.(deps, writeback, failure, body)) ?? null
      return correction ?? { event: 'refused', why, requestId, evidence: { status } }
    }
    case 'transient': {
      const { why, requestId, status, mayHaveBeenSent, statedResult } = failure
      const tries = (writeback.evidence.tries ?? 0) + 1
      if (!mayHaveBeenSent)
        return { event: 'not_sent', why, evidence: { tries }, dueAt: now + backOffMs(tries, deps.random()) }
      const claimEvidence = statedResult === undefined ? {} : { claim: { says: statedResult, why } }
      const evidence = { sender: 'ended', tries: 0, ...(status === null ? {} : { status }), ...claimEvidence } as const
      return { event: 'no_answer', why, requestId, evidence, dueAt: now + verifyDelayMs(task) }
    }
    default:
      return assertNever(failure)
  }
}

/** A failure to refresh the mirror does not change the outcome. */
async function settleAccepted(
  task: SendTask,
  { body, before }: ReadyToSend,
  answer: ApiResponse,
): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  const { status, requestId } = answer
  const observedBehaviours = handler.toObservedBehaviours?.(body) ?? []
  const why = `the service answered ${status}`
  const settledStatus = await deps.outbox.settleSent(writeback, {
    event: 'accepted',
    why,
    requestId,
    evidence: { status },
    observedBehaviours,
  })
  const sentWriteback = { ...writeback, evidence: { ...writeback.evidence, before } }
  if (settledStatus !== null) await refreshMirror({ ...task, writeback: sentWriteback }, answer)
  return toTaskResult(settledStatus)
}
