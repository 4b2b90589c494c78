/** Sends a write-back, which is recorded just before. */

import { ApiError } from '../../service/core/api-failure.ts'
import type { Ms } from '../../values/time.ts'
import { operationTypes } from '../core/operations.ts'
import type { Evidence, Writeback } from '../core/outbox-entry.ts'
import { privateTexts } from '../core/private-fields.ts'
import { isInDoubt, type ReadyToSend, targetPath } from '../handlers/operation-handler.ts'
import {
  type SendTask,
  type SendTaskResult,
  settleAccepted,
  settleFailure,
  verifyDelayMs,
} from './settle-request.ts'

/**
 * Right after the precondition check. `stale`: nothing was sent, as the check is outdated. Throws
 * ApiError if the rate limit gave no slot, the key is denied or this API is not served; it is then
 * queued again.
 */
export async function sendRequest(
  task: SendTask,
  ready: ReadyToSend,
): Promise<SendTaskResult | 'stale'> {
  const { deps, writeback, handler } = task
  // After the check, or one that takes longer than the limit would block every send.
  const checkedAt = deps.now()
  let decision = null as 'recorded' | 'stale' | 'superseded' | null
  const markSending = async () => {
    const now = deps.now()
    const isStale = now - checkedAt > preconditionValidMs
    const evidence = toEvidence(writeback, ready)
    const mark = () => deps.outbox.markSending(writeback, evidence, now, now + verifyDelayMs(task))
    decision = isStale ? 'stale' : (await mark()) ? 'recorded' : 'superseded'
    return decision === 'recorded'
  }
  const path = `${targetPath(deps, writeback)}${handler.path}`
  const { body } = ready
  const hidden = privateTexts(deps.columns, body)
  const request = { method: handler.method, path, body, priority: 'write', hidden } as const
  const sent = await deps.send(request, markSending).catch((error: unknown) => {
    if (!(error instanceof ApiError) || decision === null) throw error
    return error.failure
  })
  if ('data' in sent) return settleAccepted(task, ready, sent)
  if (decision === 'recorded') return settleFailure(task, ready, sent)
  const waitedMs = deps.now() - checkedAt
  deps.log.debug({
    event: 'writeback.not_sent',
    id: writeback.id,
    why: decision,
    waited_ms: waitedMs,
  })
  if (decision === 'stale') return 'stale'
  // Expired, decided otherwise, no longer first, or the claim was lost.
  await deps.outbox.release(writeback, { dueAt: null })
  return { kind: 'claim_lost' }
}

/**
 * An earlier send may have arrived: then `before` shows its effect, and a revert goes further back.
 */
function toEvidence(writeback: Writeback, { before }: ReadyToSend): Evidence {
  const { before: earlier, firstBefore = earlier } = writeback.evidence
  const isRepeated = isInDoubt(writeback) && operationTypes[writeback.operation].isIdempotent
  return isRepeated && firstBefore !== undefined ? { before, firstBefore } : { before }
}

/** How long the precondition check is valid. */
const preconditionValidMs: Ms = 20_000
