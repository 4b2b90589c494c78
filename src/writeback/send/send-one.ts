/**
 * Sends or verifies one claimed write-back. The intent is durable before a byte is sent; the outcome is derived only from
 * evidence: nothing was sent, a response, or neither.
 */
import { ApiError, describeFailure, isRefused, isRefusedByService } from '../../core/api-failure.ts'
import type { Writeback } from '../../core/outbox/repository.ts'
import { hasExpired, parseRequest } from '../../core/outbox/writeback-request.ts'
import type { WritebackDeps } from '../deps.ts'
import { operationHandlers } from '../operations/catalog.ts'
import type { Guarded } from '../operations/operation-handler.ts'
import { verifyBeforeResend, verifySend } from '../verify/verify-send.ts'
import { attemptSend } from './attempt-send.ts'
import { classifyResult } from './classify-result.ts'
import { refreshMirror } from './refresh-mirror.ts'
import { backOffMs, type SendTask, type SendTaskResult, settleTask, toTaskResult, wasSent } from './send-task.ts'

/** Throws ApiError if the key is denied or the server is not this API; the write-back is then unchanged. */
export async function sendOne(deps: WritebackDeps, writeback: Writeback): Promise<SendTaskResult> {
  const result = parseRequest(writeback.rawRequest)
  if (!result.ok) {
    // A row that was changed by SQL after the send cannot be verified.
    const event = writeback.status === 'sending' ? 'unverifiable' : 'invalid'
    return settleTask({ deps, writeback }, { event, why: result.why.join('; ') })
  }
  const task: SendTask = {
    deps,
    writeback,
    request: result.request,
    handler: operationHandlers[result.request.operation],
  }
  const isLate = hasExpired(writeback.expiresAt, deps.now())
  const expired = { event: 'expired', why: `expired at ${writeback.expiresAt}` } as const
  try {
    if (writeback.status !== 'sending') return isLate ? await settleTask(task, expired) : await guardAndSend(task)
    // Recorded before verification, so that it is not sent again whatever verification finds.
    return isLate && writeback.revokedAs === null ? await settleTask(task, expired) : await verifySend(task)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return releaseForRetry(task, error)
  }
}

async function guardAndSend(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback, handler, request } = task
  for (;;) {
    // Verified before each attempt: an earlier send may have arrived late, also during a long wait for the rate limit.
    const verified = !handler.isIdempotent && wasSent(writeback) ? await verifyBeforeResend(task) : null
    if (verified !== null) return verified
    const guarded = await handler.guard(deps, writeback, request).catch(toMissingTarget)
    if (!guarded.canSend) return settleUnsent(task, guarded)
    const sendAttempt = await attemptSend(task, guarded)
    if (sendAttempt === 'lost') return releaseLost(task)
    if (sendAttempt !== 'stale') return classifyResult(task, guarded, sendAttempt)
  }
}

/** A person made another decision, or another write-back was put in front of it. */
async function releaseLost({ deps, writeback }: SendTask): Promise<SendTaskResult> {
  await deps.outbox.release(writeback, null)
  return { kind: 'lost' }
}

/** Refreshes the mirror after a conflict, so that it shows the reason. */
async function settleUnsent(task: SendTask, guarded: Exclude<Guarded, { canSend: true }>): Promise<SendTaskResult> {
  const status = await task.deps.outbox.settle(task.writeback, guarded)
  if (status === 'conflict') await refreshMirror(task, null)
  return toTaskResult(status)
}

/** The target does not exist, or the service refuses to return it. */
function toMissingTarget(error: unknown): Guarded {
  if (!(error instanceof ApiError) || !isRefusedByService(error.failure)) throw error
  return { canSend: false, event: 'invalid', why: describeFailure(error.failure) }
}

/** A read failed or the rate limit gave no slot: the write-back stays unchanged and is tried later. */
async function releaseForRetry({ deps, writeback }: SendTask, error: ApiError): Promise<SendTaskResult> {
  const { failure } = error
  const tries = (writeback.evidence.tries ?? 0) + 1
  const canRetry = failure.kind === 'transient' || failure.kind === 'throttled'
  await deps.outbox.release(
    writeback,
    canRetry ? deps.now() + backOffMs(tries, deps.random()) : null,
    canRetry ? { tries } : {},
  )
  if (failure.kind === 'denied' || isRefused(error)) throw error
  return { kind: 'deferred', failure: failure.kind === 'aborted' ? null : failure }
}
