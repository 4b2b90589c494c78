/** One request for one write-back, written down in the very moment before it leaves. */
import type { Answer } from '../core/call.ts'
import { CallFailed, type Failure } from '../core/failure.ts'
import type { Cleared } from './operations/procedure.ts'
import { freshForMs } from './patience.ts'
import { restMs, type Task } from './task.ts'

/** `stale`: it had to wait for so long that what the guard saw is old. `lost`: the claim is somebody else's by now. */
export type Attempted = { readonly answer: Answer } | { readonly failure: Failure } | 'stale' | 'lost'

/** To be asked as soon as the guard has looked. Throws CallFailed where nothing was written down, because no slot was to be had. */
export async function attempt(task: Task, { body, before }: Cleared): Promise<Attempted> {
  const { deps, one, procedure } = task
  // Behind the look: a service so slow that looking takes longer than it is believed would never be sent anything.
  const lookedAt = deps.now()
  let asked = null as 'written' | 'stale' | 'lost' | null
  const leave = async () => {
    const now = deps.now()
    if (now - lookedAt > freshForMs) asked = 'stale'
    else asked = (await deps.outbox.leave(one, { before }, now, now + restMs(task))) ? 'written' : 'lost'
    return asked === 'written'
  }
  const path = procedure.path(deps.project, one.target)
  try {
    return { answer: await deps.send({ method: procedure.method, path, body, lane: 'write' }, leave) }
  } catch (error) {
    if (!(error instanceof CallFailed) || asked === null) throw error
    if (asked === 'written') return { failure: error.failure }
    deps.log.debug({ event: 'writeback.held_back', id: one.id, why: asked, waited_ms: deps.now() - lookedAt })
    return asked
  }
}
