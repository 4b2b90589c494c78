/** Looks again and again whether there is something to announce: write-backs come by plain SQL, from whoever, at any time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ms } from '../src/core/time.ts'
import type { Logger } from '../src/log.ts'

export type Watch = { readonly stop: () => Promise<void> }

/** A look that fails is logged, and the next one comes all the same. */
export function startWatch(everyMs: Ms, look: () => Promise<void>, log: Logger): Watch {
  const stopping = new AbortController()
  const { signal } = stopping
  const watching = (async () => {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error)
        if (!signal.aborted) log.warn({ event: 'watch.failed', why })
      })
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
