/** Reads a batch again and again while it is sent, with one open warehouse. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import { type BatchProgress, type BatchReading, isBatchIdle, toBatchProgress } from '../core/outbox/batch-progress.ts'
import type { BatchReport } from '../core/outbox/batches.ts'
import type { Ms } from '../core/time.ts'
import { readBatch } from './batches.ts'
import { withOutbox } from './outbox.ts'

export type WatchOptions = {
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
