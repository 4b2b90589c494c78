/**
 * One write-back, from its claim to its fate. Its intent is durable before a byte leaves; what became of it is concluded
 * from evidence only: nothing left, an answer, or neither.
 */
import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import type { Writeback } from '../../core/outbox/repository.ts'
import { hasExpired, parseRequest } from '../../core/outbox/writeback-request.ts'
import { isRefused } from '../../sync/stop.ts'
import { attemptSend } from './attempt-send.ts'
import { classifyResult } from './classify-result.ts'
import type { WritebackDeps } from '../deps.ts'
import { verifySend, verifyBeforeResend } from '../verify/verify-send.ts'
import { operationHandlers } from '../operations/catalog.ts'
import type { Guarded } from '../operations/operation-handler.ts'
import { backOffMs } from './send-policy.ts'
import { refreshMirror } from './refresh-mirror.ts'
import { type SendTaskResult, toTaskResult, settleTask, type SendTask, wasSent } from './send-task.ts'

/** Throws CallFailed where the key may not do this, or nobody serves this API: then it is as it was before. */
export async function sendOne(deps: WritebackDeps, writeback: Writeback): Promise<SendTaskResult> {
  const result = parseRequest(writeback.rawRequest)
  if (!result.ok) {
    // Sent as what it was, and changed by hand since: nobody can tell what to look for.
    const event = writeback.status === 'sending' ? 'unknowable' : 'unfit'
    return settleTask({ deps, writeback }, { event, why: result.why.join('; ') })
  }
  const task: SendTask = { deps, writeback, request: result.request, handler: operationHandlers[result.request.operation] }
  const isLate = hasExpired(writeback.expiresAt, deps.now())
  const expired = { happening: 'expired', why: `not to be sent after ${writeback.expiresAt}` } as const
  try {
    if (writeback.status !== 'sending') return isLate ? await settleTask(task, expired) : await guardAndSend(task)
    // Noted first: whatever comes of looking for it, it does not go again.
    return isLate && writeback.revokedAs === null ? await settleTask(task, expired) : await verifySend(task)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return releaseForRetry(task, error)
  }
}

async function guardAndSend(task: SendTask): Promise<SendTaskResult> {
  const { deps, writeback, handler, request } = task
  for (;;) {
    // It may have been late: looked for each time, as a wait for its turn may have been long.
    const verified = !handler.isIdempotent && wasSent(writeback) ? await verifyBeforeResend(task) : null
    if (verified !== null) return verified
    const guarded = await handler.guard(deps, writeback, request).catch(toMissingTarget)
    if (!guarded.canSend) return settleUnsent(task, guarded)
    const sendAttempt = await attemptSend(task, guarded)
    if (sendAttempt === 'lost') return releaseLost(task)
    if (sendAttempt !== 'stale') return classifyResult(task, guarded, sendAttempt)
  }
}

/** Somebody decided otherwise, or put another one in front of it. */
async function releaseLost({ deps, writeback }: SendTask): Promise<SendTaskResult> {
  await deps.outbox.release(writeback, null)
  return { kind: 'lost' }
}

/** Whoever looks at a conflict should see in the mirror what stands against it. */
async function settleUnsent(task: SendTask, guarded: Exclude<Guarded, { go: true }>): Promise<SendTaskResult> {
  const status = await task.deps.outbox.settle(task.writeback, guarded)
  if (status === 'conflict') await refreshMirror(task, null)
  return toTaskResult(status)
}

/** Whom it is about does not exist, or the service will not speak of it. */
function toMissingTarget(error: unknown): Guarded {
  if (!(error instanceof ApiError) || !isRefusedByService(error.failure)) throw error
  return { canSend: false, event: 'unfit', why: describeFailure(error.failure) }
}

/** Something could not be read, or no slot was to be had: it stays as it was, for later. */
async function releaseForRetry({ deps, writeback }: SendTask, error: ApiError): Promise<SendTaskResult> {
  const { failure } = error
  const tries = (writeback.evidence.tries ?? 0) + 1
  const canRetry = failure.kind === 'transient' || failure.kind === 'throttled'
  await deps.outbox.release(writeback, canRetry ? deps.now() + backOffMs(tries, deps.random()) : null, canRetry ? { tries } : {})
  if (failure.kind === 'denied' || isRefused(error)) throw error
  return { kind: 'resting', failure: failure.kind === 'aborted' ? null : failure }
}
