/** Patience with a warehouse that is away for a while: Postgres is restarted, or somebody else holds the SQLite file. */
import pRetry from 'p-retry'
import type { Ms } from '../core/time.ts'
import { isAway } from '../warehouse/database/trouble.ts'

export type Patience = {
  /** Tries again while the warehouse is away. `work` may have been done although its answer was lost: it must bear a repetition. */
  readonly keep: <T>(work: () => Promise<T>) => Promise<T>
  readonly isAway: () => boolean
}

export type PatienceOptions = {
  /** Ends the waiting, with the error that it waits for the end of. */
  readonly signal?: AbortSignal
  /** Tells a person, once an outage and once its end. */
  readonly tell?: (line: string) => void
  readonly ms?: Ms
}

const usualMs: Ms = 5 * 60_000

/** A connection that somebody ended is replaced at once, and not worth a word. */
const quietTries = 2

export function createPatience({ signal, tell = () => {}, ms = usualMs }: PatienceOptions): Patience {
  const waiting = new Set<symbol>()
  let told = false

  const onFailed = (one: symbol, tries: number, error: Error) => {
    if (!isAway(error)) return
    waiting.add(one)
    if (told || tries < quietTries) return
    told = true
    tell(`${error.what}: ${error.why}; trying again for ${Math.round(ms / 60_000)} minutes`)
  }
  const onWorked = () => {
    waiting.clear()
    if (!told) return
    told = false
    tell('the warehouse answers again')
  }

  return {
    isAway: () => waiting.size > 0,
    keep: async (work) => {
      const one = Symbol('work')
      const done = await pRetry(work, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 200,
        factor: 1.5,
        maxTimeout: 2000,
        randomize: true,
        maxRetryTime: ms,
        shouldRetry: ({ error }) => isAway(error) && signal?.aborted !== true,
        onFailedAttempt: ({ error, attemptNumber }) => onFailed(one, attemptNumber, error),
      }).finally(() => waiting.delete(one))
      onWorked()
      return done
    },
  }
}
