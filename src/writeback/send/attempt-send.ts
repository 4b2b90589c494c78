/** Sends the request of a write-back, which is recorded in the outbox just before. */

import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import type { ReadyToSend } from '../operations/operation-handler.ts'
import { guardValidMs, type SendTask, verifyDelayMs } from './send-task.ts'

/** `stale`: the request waited so long that the guard's check is outdated. `lost`: the claim was lost meanwhile. */
export type SendAttempt = { readonly answer: ApiResponse } | { readonly failure: ApiFailure } | 'stale' | 'lost'

/** Call it right after the guard. Throws ApiError if nothing was recorded, because the rate limit gave no slot. */
export async function attemptSend(task: SendTask, { body, before }: ReadyToSend): Promise<SendAttempt> {
  const { deps, writeback, handler } = task
  // Measured after the guard: with a slow service, a guard that takes longer than the limit would block every send.
  const guardedAt = deps.now()
  let decision = null as 'recorded' | 'stale' | 'lost' | null
  const markSending = async () => {
    const now = deps.now()
    if (now - guardedAt > guardValidMs) decision = 'stale'
    else
      decision = (await deps.outbox.markSending(writeback, { before }, now, now + verifyDelayMs(task)))
        ? 'recorded'
        : 'lost'
    return decision === 'recorded'
  }
  const path = handler.path(deps.projectId, writeback.target)
  try {
    return { answer: await deps.send({ method: handler.method, path, body, priority: 'write' }, markSending) }
  } catch (error) {
    if (!(error instanceof ApiError) || decision === null) throw error
    if (decision === 'recorded') return { failure: error.failure }
    deps.log.debug({ event: 'writeback.not_sent', id: writeback.id, why: decision, waited_ms: deps.now() - guardedAt })
    return decision
  }
}
