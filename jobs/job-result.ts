/**
 * How a job ends, in our words and in BullMQ's, which is steered by what one throws. Only this file knows that.
 * Source: BullMQ's documentation, "Process step jobs", "Rate limiting", "Stop retrying jobs", read 2026-11-21.
 */
import { DelayedError, RateLimitError, UnrecoverableError } from 'bullmq'
import { assertNever } from '../src/core/assert-never.ts'
import type { Ms } from '../src/core/time.ts'

export type JobResult =
  | { readonly do: 'done' }
  /** The same job once more, behind those that wait by then. Keeps its deduplication id and spends no attempt. */
  | { readonly do: 'again'; readonly afterMs: Ms }
  /** Nothing of this queue runs for a while, in no process; then this job once more. Spends no attempt. */
  | { readonly do: 'rest'; readonly forMs: Ms }
  /** Failed for good, whatever attempts are left. */
  | { readonly do: 'give up'; readonly why: string }
  /** An attempt is spent; the job's own `attempts` and `backoff` decide about the next one. */
  | { readonly do: 'retry'; readonly why: string }

/** What a running job lets be done to it. */
export type JobControl = {
  /** `at`: milliseconds since 1970. */
  readonly delay: (at: number) => Promise<void>
  readonly pauseQueue: (forMs: Ms) => Promise<void>
}

/** Returns or throws what BullMQ wants to see. Not to be caught on the way there. */
export async function applyJobResult(result: JobResult, control: JobControl): Promise<void> {
  switch (result.do) {
    case 'done':
      return
    case 'again':
      await control.delay(Date.now() + toWholeMs(result.afterMs))
      throw new DelayedError()
    case 'rest':
      await control.pauseQueue(toWholeMs(result.forMs))
      throw new RateLimitError()
    case 'give up':
      throw new UnrecoverableError(result.why)
    case 'retry':
      throw new Error(result.why)
    default:
      return assertNever(result)
  }
}

/** Postgres takes no fractions, and 0 would not put a job behind the others. */
function toWholeMs(ms: Ms): Ms {
  return Math.max(1, Math.ceil(ms))
}
