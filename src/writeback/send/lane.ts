/** Works on one lane: sends its write-backs one after another while one can be claimed. */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { WritebackDeps } from '../deps.ts'
import { sendOne } from './send-one.ts'

export type LaneCallbacks = {
  /** Called before each write-back except the first. */
  readonly canContinue: (next: ClaimableWriteback) => boolean
  readonly onSettled: (status: WritebackStatus) => void
}

/**
 * Returns the service failure that stopped the lane; null if nothing more can be done now. Throws ApiError if the key is
 * denied.
 */
export async function sendLane(
  deps: WritebackDeps,
  first: ClaimableWriteback,
  callbacks: LaneCallbacks,
): Promise<ApiFailure | null> {
  for (let head: ClaimableWriteback | undefined = first; head !== undefined; ) {
    const writeback = await deps.outbox.claim(head.id, deps.now())
    if (writeback === null) return null
    const result = await sendOne(deps, writeback)
    if (result.kind === 'lost') return null
    if (result.kind === 'deferred' && result.failure !== null) return result.failure
    if (result.kind === 'settled') {
      callbacks.onSettled(result.status)
      deps.log.info({
        event: 'writeback.settled',
        project: deps.projectId,
        id: writeback.id,
        operation: writeback.operation,
        status: result.status,
      })
    }
    if (deps.signal.aborted) return null
    const [next] = await deps.outbox.findClaimable(deps.now(), 1, { lane: head.lane })
    head = next !== undefined && callbacks.canContinue(next) ? next : undefined
  }
  return null
}
