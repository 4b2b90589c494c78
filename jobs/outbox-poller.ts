/** Polls the outbox: anyone may insert write-backs by plain SQL at any time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ms } from '../src/core/time.ts'
import type { JobDeps } from './job-deps.ts'
import { runBackgroundTask } from './job-errors.ts'

export type OutboxPoller = { readonly stop: () => Promise<void> }

type PollerDeps = Pick<JobDeps, 'failures' | 'isQueueConnectionError'>

/** A poll that fails is recorded, and the next one starts all the same. */
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
