/** Looks again and again whether there is something to announce: write-backs come by plain SQL, from whoever, at any time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ms } from '../src/core/time.ts'
import { runBackgroundTask } from './job-errors.ts'
import type { JobDeps } from './job-deps.ts'

export type OutboxPoller = { readonly stop: () => Promise<void> }

type PollerDeps = Pick<JobDeps, 'failures' | 'isQueueAway'>

/** A look that fails is told of, and the next one comes all the same. */
export function startOutboxPoller(everyMs: Ms, poll: () => Promise<void>, deps: PollerDeps): OutboxPoller {
  const stopping = new AbortController()
  const { signal } = stopping
  const polling = (async () => {
    while (!signal.aborted) {
      await runBackgroundTask(
        'outbox_poll',
        () => poll().catch((error) => (signal.aborted ? undefined : Promise.reject(error))),
        deps,
      )
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await polling
    },
  }
}
