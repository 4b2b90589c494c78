/** What the result of a request means for its write-back: the answer, a failure, or silence. */

import {
  ApiError,
  type ApiFailure,
  describeFailure,
  isRowRefused,
} from '../../service/core/api-failure.ts'
import type { ApiResponse } from '../../service/core/api-request.ts'
import { isMissingScope } from '../../service/core/whose-refusal.ts'
import type { Json } from '../../values/json.ts'
import type { Ms } from '../../values/time.ts'
import { assertNever } from '../../values/user-error.ts'
import { operationTypes } from '../core/operations.ts'
import type { Transition, Writeback, WritebackOutcome } from '../core/outbox-entry.ts'
import { privateTexts } from '../core/private-fields.ts'
import type { WritebackStatus } from '../core/state.ts'
import {
  isInDoubt,
  type OperationHandler,
  type ReadyToSend,
  refreshTarget,
  type Task,
} from '../handlers/operation-handler.ts'

export async function settleFailure(
  task: SendTask,
  ready: ReadyToSend,
  failure: ApiFailure,
): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  const transition = await toTransition(task, ready, failure)
  const status = await deps.outbox.settleSent(writeback, transition)
  if (isOfService(failure)) throw new ApiError(failure)
  if (isMissingScope(failure)) return toTaskResult(status, transition.why, failure)
  // An operation that cannot be verified need not wait.
  if (status === 'sending' && handler.verifyDelayFactor === 0) {
    const { why } = transition
    return toTaskResult(
      await deps.outbox.settleSent(writeback, { event: 'unverifiable', why }),
      why,
    )
  }
  const isServiceFailure =
    failure.kind === 'throttled' || (failure.kind === 'transient' && !failure.mayHaveBeenSent)
  return toTaskResult(status, transition.why, isServiceFailure ? failure : null)
}

/** The key is denied, or this API is not served there: no other row fares better. */
export function isOfService(failure: ApiFailure): boolean {
  return (
    (failure.kind === 'denied' && !isMissingScope(failure)) ||
    (failure.kind === 'refused' && !isRowRefused(failure))
  )
}

/** It was not done, and is tried again later. */
function postpone(
  { deps, writeback }: SendTask,
  why: string,
  requestId: string | null,
): Transition {
  const failedAttempts = (writeback.evidence.failedAttempts ?? 0) + 1
  const dueAt = deps.now() + backOffMs(failedAttempts, deps.random())
  return {
    event: 'not_sent',
    why,
    evidence: { failedAttempts },
    dueAt,
    ...(requestId && { requestId }),
  }
}

async function toTransition(
  task: SendTask,
  { body, before }: ReadyToSend,
  failure: ApiFailure,
): Promise<Transition> {
  const { deps, writeback, handler } = task
  const now = deps.now()
  switch (failure.kind) {
    case 'aborted':
      return { event: 'not_sent', why: 'stopped before it was sent' }
    case 'throttled': {
      // A gateway's 429 may follow a write that was done: a reply is looked for, a note is not.
      const canBeRepeated =
        operationTypes[writeback.operation].isIdempotent || before.ids !== undefined
      const { why, requestId, waitMs } = failure
      // The key pauses for as long; but the record of that may be lost.
      const dueAt = now + waitMs
      if (failure.isDocumented || canBeRepeated)
        return { event: 'not_sent', why, requestId, evidence: { status: 429 }, dueAt }
      const evidence = { sender: 'ended', status: 429 } as const
      return { event: 'no_response', why, requestId, evidence, dueAt: now + verifyDelayMs(task) }
    }
    case 'denied': {
      const { why, requestId } = failure
      return isMissingScope(failure)
        ? postpone(task, why, requestId)
        : { event: 'not_sent', why, requestId }
    }
    case 'refused': {
      const { why, requestId, status } = failure
      if (isOfService(failure)) return { event: 'not_sent', why, requestId }
      const correction = (await handler.interpretRefusal?.(task, failure, body)) ?? null
      return correction ?? { event: 'refused', why, requestId, evidence: { status } }
    }
    case 'transient': {
      const { why, requestId, status, mayHaveBeenSent, statedResult, waitMs = 0 } = failure
      if (!mayHaveBeenSent) return postpone(task, why, null)
      const stated = {
        ...(status !== null && { status }),
        ...(statedResult && { statedResult: { says: statedResult, why } }),
      }
      const evidence = { sender: 'ended', failedAttempts: 0, ...stated } as const
      // Until Retry-After has passed, the service may not show what it has done.
      const dueAt = now + Math.max(verifyDelayMs(task), waitMs)
      return { event: 'no_response', why, requestId, evidence, dueAt }
    }
    default:
      return assertNever(failure)
  }
}

/**
 * It has succeeded, as the service says. What its answer or the next read shows instead is said on
 * the row: someone may have changed it since.
 */
export async function settleAccepted(
  task: SendTask,
  { body, before }: ReadyToSend,
  response: ApiResponse,
): Promise<SendTaskResult> {
  const { deps, writeback, handler } = task
  const { status, requestId, data } = response
  const sent = { ...task, writeback: { ...writeback, evidence: { ...writeback.evidence, before } } }
  const describe = (shown: string | null) =>
    `the service answered ${status}${shown === null ? '' : `, but ${shown}`}`
  const inAnswer = handler.findContradiction?.(sent, data) ?? null
  const settledStatus = await deps.outbox.settleSent(writeback, {
    event: 'accepted',
    why: describe(inAnswer),
    requestId,
    evidence: { status },
    observedBehaviours: handler.toObservedBehaviours?.(body) ?? [],
    isContradicted: inAnswer !== null,
  })
  if (settledStatus === null) return { kind: 'claim_lost' }
  const shown = await refreshMirror(sent, response)
  const inRead = shown === null ? inAnswer : (handler.findContradiction?.(sent, shown) ?? null)
  const why = describe(inRead)
  if (inRead !== inAnswer) await deps.outbox.recordContradiction(writeback, why, inRead !== null)
  if (privateTexts(deps.columns, body).length > 0) await deps.outbox.forgetEnded(deps.columns)
  return { kind: 'settled', status: settledStatus, why, isContradicted: inRead !== null }
}

export type SendTask = Task & { readonly handler: OperationHandler }

/** `deferred`: continued later. `claim_lost`: to another process, or settled otherwise. */
export type SendTaskResult =
  | ({ readonly kind: 'settled' } & WritebackOutcome)
  /** `failure`: set if the service failed. */
  | { readonly kind: 'deferred'; readonly failure: ApiFailure | null }
  | { readonly kind: 'claim_lost' }

/** `status`: the new status; null if the claim was lost. */
export function toTaskResult(
  status: WritebackStatus | null,
  why: string,
  failure: ApiFailure | null = null,
): SendTaskResult {
  if (status === null) return { kind: 'claim_lost' }
  const isDeferred = status === 'queued' || status === 'sending'
  return isDeferred
    ? { kind: 'deferred', failure }
    : { kind: 'settled', status, why, isContradicted: false }
}

export async function settleTask(
  { deps, writeback }: Task,
  transition: Transition,
): Promise<SendTaskResult> {
  return toTaskResult(await deps.outbox.settle(writeback, transition), transition.why)
}

/**
 * Shows the effect, or the reason for a conflict, before the next sync. A failed read is only
 * logged. `response`: of an accepted write-back. Returns the target; null if it was not read.
 */
export async function refreshMirror(task: SendTask, response: ApiResponse | null): Promise<Json> {
  const { deps, writeback, handler } = task
  try {
    const messageId =
      response === null ? null : ((await handler.findMessageId?.(task, response)) ?? null)
    if (messageId !== null) await deps.outbox.recordMessageId(writeback, messageId)
    // What cannot be read, the mirror does not have.
    return handler.verifyDelayFactor > 0 ? await refreshTarget(task) : null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    deps.log.debug({
      event: 'mirror_refresh.failed',
      id: writeback.id,
      why: describeFailure(error.failure),
    })
    return null
  }
}

/** Also of one that a 429 answered, which counts as no attempt. */
export function mayHaveBeenDone(writeback: Writeback): boolean {
  const { before, status } = writeback.evidence
  return isInDoubt(writeback) || (before !== undefined && status === 429)
}

/** Delay before verification if no response comes. */
export function verifyDelayMs({ deps, handler }: SendTask): Ms {
  return Math.ceil(deps.verifyAfterMs * handler.verifyDelayFactor)
}

/** After this many sends without a readable response, a person decides. */
export const maxSends = 5

/** After the n-th failure in a row, in whole milliseconds. `jitter`: 0 to below 1. */
export function backOffMs(failures: number, jitter: number): Ms {
  return Math.round(Math.min(60_000, 500 * 2 ** Math.min(failures, 10)) * (0.5 + jitter / 2))
}

/**
 * Needed before it is sent again. Of idempotent operations too: a first send that arrives late
 * would overwrite later changes.
 */
export const verificationsNeeded = 2
