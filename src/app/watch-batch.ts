/** Reads a batch again and again while it is sent, with one open warehouse. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { BatchReport } from '../outbox/core/batches.ts'
import type { StatusCounts } from '../outbox/core/state.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { readBatch } from './batches.ts'
import { withOutbox } from './outbox.ts'

type WatchOptions = {
  readonly everyMs: Ms
  /** Once aborted, the last reading is returned. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: BatchProgress, report: BatchReport) => void
}

/** Until nothing more happens to the batch without a person; returns the last reading. Throws UserError if there is none. */
export function watchBatch(
  config: Config,
  project: ProjectConfig,
  name: string,
  { everyMs, signal, onProgress }: WatchOptions,
): Promise<BatchReport> {
  return withOutbox(config, project, async (admin, warehouse) => {
    let first: BatchReading | null = null
    for (;;) {
      const report = await readBatch(admin, warehouse, project, name)
      const reading = { at: Date.now(), report }
      first ??= reading
      onProgress(toBatchProgress(first, reading), report)
      if (isBatchIdle(report) || signal.aborted) return report
      await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  })
}

type BatchReading = { readonly at: EpochMs; readonly report: BatchReport }

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
function isBatchIdle({ batch: { state, counts } }: BatchReport): boolean {
  return state !== 'sending' && (counts.sending ?? 0) === 0
}

function countSettled(counts: StatusCounts): number {
  const { succeeded = 0, failed = 0, conflict = 0, uncertain = 0, cancelled = 0, expired = 0 } = counts
  return succeeded + failed + conflict + uncertain + cancelled + expired
}
