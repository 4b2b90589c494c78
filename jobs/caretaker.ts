/**
 * Looks after what a queue may lose. It needs no job to run: schedules that are missing come back, and work that no job
 * announces is found in the warehouse.
 */
import type { Ms } from '../src/core/time.ts'
import { caughtHere } from './caught.ts'
import type { JobDeps } from './deps.ts'

export type CaretakerDeps = {
  readonly everyMs: Ms
  /** A sign of life. */
  readonly beat: () => Promise<void>
  /** Whether the rest is this process's to do. */
  readonly lead: () => Promise<boolean>
  /** Puts back the schedules that are missing or stuck. */
  readonly keepSchedules: () => Promise<void>
  /** Announces what is overdue. */
  readonly sweep: () => Promise<void>
} & Pick<JobDeps, 'failures' | 'isQueueAway'>

export type Caretaker = {
  /** Since the last round that came to its end, or since the start. */
  readonly silentMs: () => Ms
  /** One more round now. */
  readonly hurry: () => void
  /** Waits for the round under way. */
  readonly stop: () => Promise<void>
}

/** The first round is at once. A round that fails is told of, and the next one comes all the same. */
export function startCaretaker(deps: CaretakerDeps): Caretaker {
  let lastAt = performance.now()
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const round = async () => {
    clearTimeout(timer)
    const work = async () => {
      await deps.beat()
      if (await deps.lead()) {
        await deps.keepSchedules()
        await deps.sweep()
      }
    }
    // What is closing may fail it, and nobody needs to know.
    await caughtHere('maintenance', () => work().catch((error) => (stopped ? undefined : Promise.reject(error))), deps)
    lastAt = performance.now()
    if (!stopped) timer = setTimeout(next, deps.everyMs)
  }
  let current = Promise.resolve()
  const next = () => {
    current = current.then(round)
  }
  next()
  return {
    silentMs: () => performance.now() - lastAt,
    hurry: next,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await current
    },
  }
}
