/** How far a batch is and how fast, from what was read of it at two times. Pure. */
import type { EpochMs, Ms } from '../time.ts'
import type { BatchReport } from './batches.ts'
import type { StatusCounts } from './state.ts'

export type BatchReading = { readonly at: EpochMs; readonly report: BatchReport }

export type BatchProgress = {
  readonly rows: number
  /** Rows whose outcome is known, whatever it is. */
  readonly settled: number
  readonly counts: StatusCounts
  /** Settled in a minute since the first reading; null if that was too short ago to say. */
  readonly perMinute: number | null
  /** When the last row will be settled; null if nothing is sent or nothing is left. */
  readonly doneAt: EpochMs | null
  /** RFC 3339; null if nothing rests. */
  readonly restsUntil: string | null
  readonly restsBecause: string | null
}

/** A rate over a shorter time says nothing. */
const minRateTime: Ms = 5000

export function toBatchProgress(first: BatchReading, { at, report }: BatchReading): BatchProgress {
  const { batch, estimate } = report
  const settled = countSettled(batch.counts)
  const took = at - first.at
  const moving = batch.state === 'sending'
  return {
    rows: batch.rows,
    settled,
    counts: batch.counts,
    perMinute: took < minRateTime ? null : ((settled - countSettled(first.report.batch.counts)) / took) * 60_000,
    doneAt: moving && estimate.left > 0 ? at + estimate.takesMs : null,
    restsUntil: estimate.restsUntil,
    restsBecause: estimate.restsBecause,
  }
}

/** Whether nothing more happens to it without a person. */
export function isBatchIdle({ batch: { state, counts } }: BatchReport): boolean {
  return state !== 'sending' && (counts.sending ?? 0) === 0
}

function countSettled(counts: StatusCounts): number {
  const { succeeded = 0, failed = 0, conflict = 0, uncertain = 0, cancelled = 0, expired = 0 } = counts
  return succeeded + failed + conflict + uncertain + cancelled + expired
}
