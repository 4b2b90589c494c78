/**
 * How a job ends, as our values and as BullMQ's, which reads thrown errors. Only this file knows BullMQ's side.
 * Source: BullMQ's documentation, "Process step jobs", "Rate limiting", "Stop retrying jobs", read 2026-11-21.
 */
import { DelayedError, RateLimitError, UnrecoverableError } from 'bullmq'
import { assertNever } from '../src/core/assert-never.ts'
import type { Ms } from '../src/core/time.ts'

export type JobResult =
  | { readonly do: 'done' }
  /** Run the same job again, behind those that wait by then. Keeps its deduplication id and uses no attempt. */
  | { readonly do: 'delay'; readonly afterMs: Ms }
  /** Pause the whole queue in all processes, then run this job again. Uses no attempt. */
  | { readonly do: 'rest'; readonly forMs: Ms }
  /** Failed permanently, whatever attempts are left. */
  | { readonly do: 'give up'; readonly why: string }
  /** An attempt is used; the job's own `attempts` and `backoff` decide about the next one. */
  | { readonly do: 'retry'; readonly why: string }

/** What can be done to a running job. */
type JobControl = {
  /** `at`: milliseconds since 1970. */
  readonly delay: (at: number) => Promise<void>
  readonly pauseQueue: (forMs: Ms) => Promise<void>
}

/** Returns, or throws what BullMQ expects. The caller must not catch it. */
export async function applyJobResult(result: JobResult, control: JobControl): Promise<void> {
  switch (result.do) {
    case 'done':
      return
    case 'delay':
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

/** Postgres takes no fractions, and 0 would not move a job behind the others. */
function toWholeMs(ms: Ms): Ms {
  return Math.max(1, Math.ceil(ms))
}
