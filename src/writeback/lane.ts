/** One lane: its write-backs strictly one after the other, for as long as there is one that can be worked on. */
import type { Failure } from '../core/failure.ts'
import type { Ready } from '../core/outbox.ts'
import type { Status } from '../core/outbox-state.ts'
import { deliver } from './deliver.ts'
import type { WritebackDeps } from './deps.ts'

export type LaneEnd = { readonly settled: readonly Status[]; readonly trouble: Failure | null }

/** `mayGoOn` is asked before each but the first. Throws CallFailed where the key may not do this. */
export async function workLane(deps: WritebackDeps, first: Ready, mayGoOn: (next: Ready) => boolean): Promise<LaneEnd> {
  const settled: Status[] = []
  for (let head: Ready | undefined = first; head !== undefined; ) {
    const one = await deps.outbox.claim(head.id, deps.now())
    if (one === null) break
    const delivered = await deliver(deps, one)
    if (delivered.kind === 'resting' && delivered.trouble !== null) return { settled, trouble: delivered.trouble }
    if (delivered.kind === 'settled') {
      settled.push(delivered.status)
      deps.log.info({ event: 'writeback.settled', id: one.id, operation: one.operation, status: delivered.status })
    }
    if (delivered.kind === 'lost' || deps.signal.aborted) break
    const [next] = await deps.outbox.ready(deps.now(), 1, { lane: head.lane })
    head = next !== undefined && mayGoOn(next) ? next : undefined
  }
  return { settled, trouble: null }
}
