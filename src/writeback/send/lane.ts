/** One lane: its write-backs strictly one after the other, for as long as there is one that can be worked on. */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import { sendOne } from './send-one.ts'
import type { WritebackDeps } from '../deps.ts'

export type LaneCallbacks = {
  /** Asked before each but the first. */
  readonly mayGoOn: (next: ClaimableWriteback) => boolean
  readonly onSettled: (status: WritebackStatus) => void
}

/**
 * Gives back what ended it where the service does not answer as it should; null: nothing more can be done just now. Throws
 * CallFailed where the key may not do this.
 */
export async function workLane(deps: WritebackDeps, first: ClaimableWriteback, callbacks: LaneCallbacks): Promise<ApiFailure | null> {
  for (let head: ClaimableWriteback | undefined = first; head !== undefined; ) {
    const writeback = await deps.outbox.claim(head.id, deps.now())
    if (writeback === null) return null
    const result = await sendOne(deps, writeback)
    if (result.kind === 'lost') return null
    if (result.kind === 'resting' && result.failure !== null) return result.failure
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
    head = next !== undefined && callbacks.mayGoOn(next) ? next : undefined
  }
  return null
}
