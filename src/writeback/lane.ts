/** One lane: its write-backs strictly one after the other, for as long as there is one that can be worked on. */
import type { Failure } from '../core/failure.ts'
import type { Ready } from '../core/outbox/outbox.ts'
import type { Status } from '../core/outbox/state.ts'
import { deliver } from './deliver.ts'
import type { WritebackDeps } from './deps.ts'

export type LaneHooks = {
  /** Asked before each but the first. */
  readonly mayGoOn: (next: Ready) => boolean
  readonly onSettled: (status: Status) => void
}

/**
 * Gives back what ended it where the service does not answer as it should; null: nothing more can be done just now. Throws
 * CallFailed where the key may not do this.
 */
export async function workLane(deps: WritebackDeps, first: Ready, hooks: LaneHooks): Promise<Failure | null> {
  for (let head: Ready | undefined = first; head !== undefined; ) {
    const one = await deps.outbox.claim(head.id, deps.now())
    if (one === null) return null
    const outcome = await deliver(deps, one)
    if (outcome.kind === 'lost') return null
    if (outcome.kind === 'resting' && outcome.trouble !== null) return outcome.trouble
    if (outcome.kind === 'settled') {
      hooks.onSettled(outcome.status)
      deps.log.info({
        event: 'writeback.settled',
        project: deps.project,
        id: one.id,
        operation: one.operation,
        status: outcome.status,
      })
    }
    if (deps.signal.aborted) return null
    const [next] = await deps.outbox.ready(deps.now(), 1, { lane: head.lane })
    head = next !== undefined && hooks.mayGoOn(next) ? next : undefined
  }
  return null
}
