/** One request for one write-back, written down in the very moment before it leaves. */
import type { Answer } from '../core/call.ts'
import { CallFailed, type Failure } from '../core/failure.ts'
import type { Errand, Going } from './deps.ts'
import { freshForMs } from './patience.ts'

/** `stale`: it had to wait for so long that what the guard saw is old. `lost`: the claim is somebody else's by now. */
export type Attempted = { readonly answer: Answer } | { readonly failure: Failure } | 'stale' | 'lost'

/** `lookedAt`: when the guard had looked. Throws CallFailed where nothing was written down, because no slot was to be had. */
export async function attempt(
  { deps, one, craft }: Errand,
  { body, before }: Going,
  lookedAt: number,
): Promise<Attempted> {
  let told = 'not asked' as 'not asked' | 'stale' | 'lost' | 'written'
  const leave = async () => {
    const now = deps.now()
    if (now - lookedAt > freshForMs) told = 'stale'
    else
      told = (await deps.outbox.leave(one, { before }, now, now + craft.restMs(deps.verifyAfterMs)))
        ? 'written'
        : 'lost'
    return told === 'written'
  }
  const path = craft.path(deps.project, one.target)
  try {
    return { answer: await deps.send({ method: craft.method, path, body, lane: 'write' }, leave) }
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    if (told === 'stale' || told === 'lost') {
      deps.log.debug({ event: 'writeback.held_back', id: one.id, why: told, waited_ms: deps.now() - lookedAt })
      return told
    }
    if (told === 'written') return { failure: error.failure }
    throw error
  }
}
