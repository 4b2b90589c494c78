/** One request for one write-back, written down in the very moment before it leaves. */
import type { ApiResponse } from '../../core/api-request.ts'
import { ApiError, type ApiFailure } from '../../core/api-failure.ts'
import type { ReadyToSend } from '../operations/operation-handler.ts'
import { guardValidMs } from './send-policy.ts'
import { verifyDelayMs, type SendTask } from './send-task.ts'

/** `stale`: it had to wait for so long that what the guard saw is old. `lost`: the claim is somebody else's by now. */
export type SendAttempt = { readonly answer: ApiResponse } | { readonly failure: ApiFailure } | 'stale' | 'lost'

/** To be asked as soon as the guard has looked. Throws CallFailed where nothing was written down, because no slot was to be had. */
export async function attemptSend(task: SendTask, { body, before }: ReadyToSend): Promise<SendAttempt> {
  const { deps, writeback, handler } = task
  // Behind the look: a service so slow that looking takes longer than it is believed would never be sent anything.
  const guardedAt = deps.now()
  let decision = null as 'written' | 'stale' | 'lost' | null
  const markSending = async () => {
    const now = deps.now()
    if (now - guardedAt > guardValidMs) decision = 'stale'
    else decision = (await deps.outbox.markSending(writeback, { before }, now, now + verifyDelayMs(task))) ? 'written' : 'lost'
    return decision === 'written'
  }
  const path = handler.path(deps.projectId, writeback.target)
  try {
    return { answer: await deps.send({ method: handler.method, path, body, priority: 'write' }, markSending) }
  } catch (error) {
    if (!(error instanceof ApiError) || decision === null) throw error
    if (decision === 'written') return { failure: error.failure }
    deps.log.debug({ event: 'writeback.held_back', id: writeback.id, why: decision, waited_ms: deps.now() - guardedAt })
    return decision
  }
}
