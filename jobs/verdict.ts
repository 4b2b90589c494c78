/**
 * How a job ends, in our words and in BullMQ's, which is steered by what one throws. Only this file knows that.
 * Source: BullMQ's documentation, "Process step jobs", "Rate limiting", "Stop retrying jobs", read 2026-11-21.
 */
import { DelayedError, RateLimitError, UnrecoverableError } from 'bullmq'
import { never } from '../src/core/never.ts'
import type { Ms } from '../src/core/time.ts'

export type Verdict =
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
export type Steering = {
  /** `at`: milliseconds since 1970. */
  readonly delay: (at: number) => Promise<void>
  readonly rest: (forMs: Ms) => Promise<void>
}

/** Returns or throws what BullMQ wants to see. Not to be caught on the way there. */
export async function obey(verdict: Verdict, job: Steering): Promise<void> {
  switch (verdict.do) {
    case 'done':
      return
    case 'again':
      await job.delay(Date.now() + whole(verdict.afterMs))
      throw new DelayedError()
    case 'rest':
      await job.rest(whole(verdict.forMs))
      throw new RateLimitError()
    case 'give up':
      throw new UnrecoverableError(verdict.why)
    case 'retry':
      throw new Error(verdict.why)
    default:
      return never(verdict)
  }
}

/** Postgres takes no fractions, and 0 would not put a job behind the others. */
function whole(ms: Ms): Ms {
  return Math.max(1, Math.ceil(ms))
}
