/** A claimed write-back with what is needed to send and settle it, the result, and the retry policy. */
import { ApiError, type ApiFailure, describeFailure } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import type { Transition, Writeback } from '../../core/outbox/repository.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { Ms } from '../../core/time.ts'
import type { OperationHandler, Task } from '../operations/operation-handler.ts'

export type SendTask = Task & { readonly handler: OperationHandler }

/** `deferred`: continued later. `claim_lost`: another process works on it, or it was settled otherwise. */
export type SendTaskResult =
  /** `why`: for a person. */
  | { readonly kind: 'settled'; readonly status: WritebackStatus; readonly why: string }
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
  return status === 'queued' || status === 'sending' ? { kind: 'deferred', failure } : { kind: 'settled', status, why }
}

export async function settleTask({ deps, writeback }: Task, transition: Transition): Promise<SendTaskResult> {
  return toTaskResult(await deps.outbox.settle(writeback, transition), transition.why)
}

/**
 * Shows the effect of a write-back, or the reason for a conflict, in the mirror before the next sync. A failed read is
 * only logged, as it does not change the outcome. `response`: that of an accepted write-back, else null.
 */
export async function refreshMirror(task: SendTask, response: ApiResponse | null): Promise<void> {
  const { deps, writeback, handler } = task
  try {
    const messageId = response === null ? null : ((await handler.findMessageId?.(task, response)) ?? null)
    if (messageId !== null) await deps.outbox.recordMessageId(writeback, messageId)
    await handler.refreshTarget(task)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    deps.log.debug({ event: 'mirror_refresh.failed', id: writeback.id, why: describeFailure(error.failure) })
  }
}

/** It was sent, no response proved its outcome, and no person has queued it again since. */
export function isInDoubt({ attempts, evidence }: Writeback): boolean {
  return attempts > 0 && evidence.before !== undefined
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

/** How long the precondition check is valid. */
export const preconditionValidMs: Ms = 20_000

/** After this many sends without a readable response, a person decides. */
export const maxSends = 5

/** Back-off after the n-th failed attempt in a row, in whole milliseconds. `jitter`: from 0 to below 1. */
export function backOffMs(failures: number, jitter: number): Ms {
  return Math.round(Math.min(60_000, 500 * 2 ** Math.min(failures, 10)) * (0.5 + jitter / 2))
}

/**
 * How many verifications must not find it before it is sent again. Applies to idempotent operations too, as a first send
 * that arrives late would overwrite later changes.
 */
export const verificationsNeeded = 2
