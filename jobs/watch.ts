/** Looks again and again whether there is something to announce: write-backs come by plain SQL, from whoever, at any time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ms } from '../src/core/time.ts'
import { caughtHere } from './caught.ts'
import type { JobDeps } from './deps.ts'

export type Watch = { readonly stop: () => Promise<void> }

type Hearing = Pick<JobDeps, 'failures' | 'isQueueAway'>

/** A look that fails is told of, and the next one comes all the same. */
export function startWatch(everyMs: Ms, look: () => Promise<void>, deps: Hearing): Watch {
  const stopping = new AbortController()
  const { signal } = stopping
  const watching = (async () => {
    while (!signal.aborted) {
      await caughtHere(
        'outbox_poll',
        () => look().catch((error) => (signal.aborted ? undefined : Promise.reject(error))),
        deps,
      )
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await watching
    },
  }
}
