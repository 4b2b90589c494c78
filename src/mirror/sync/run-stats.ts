/** Counts what each stream of a run did, and reports the progress. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommitResult, StreamReport } from '../core/mirror.ts'
import type { SyncProgress } from '../core/reports.ts'

type StreamCounts = {
  requests: number
  rows: number
  changed: number
  left: number | null
  skipped: string | null
  failed: string | null
  readonly startedAt: EpochMs
  endedAt: EpochMs
}

export type RunStats = ReturnType<typeof createRunStats>

export function createRunStats(now: () => EpochMs, onProgress: (progress: SyncProgress) => void) {
  const counts = new Map<StreamName, StreamCounts>()
  const count = (stream: StreamName): StreamCounts => {
    const known = counts.get(stream)
    if (known !== undefined) return known
    const startedAt = now()
    const zero = { requests: 0, rows: 0, changed: 0, left: null, skipped: null, failed: null }
    const fresh: StreamCounts = { ...zero, startedAt, endedAt: startedAt }
    counts.set(stream, fresh)
    return fresh
  }
  const reportProgress = (stream: StreamName, state: SyncProgress['state']) => {
    const { requests, rows, changed, left } = count(stream)
    onProgress({ stream, state, rows, changed, requests, left })
  }
  return {
    start: (stream: StreamName) => reportProgress(stream, 'running'),
    recordRequest: (stream: StreamName) => {
      count(stream).requests += 1
    },
    /** A page was stored. */
    recordPage: (stream: StreamName, rows: number, { changed }: CommitResult) => {
      const streamCounts = count(stream)
      streamCounts.rows += rows
      streamCounts.changed += changed
      streamCounts.endedAt = now()
      if (streamCounts.left !== null && streamCounts.left > 0) streamCounts.left -= 1
      reportProgress(stream, 'running')
    },
    /** Requests still to make; null = unknown. */
    setRemaining: (stream: StreamName, requests: number | null) => {
      count(stream).left = requests
      reportProgress(stream, 'running')
    },
    skip: (stream: StreamName, scope: string) => {
      count(stream).skipped = scope
      reportProgress(stream, 'skipped')
    },
    fail: (stream: StreamName, why: string) => {
      count(stream).failed ??= why
      reportProgress(stream, 'failed')
    },
    finish: (stream: StreamName) => {
      const { skipped, failed } = count(stream)
      count(stream).left = 0
      if (skipped === null && failed === null) reportProgress(stream, 'done')
    },
    reports: (): readonly StreamReport[] =>
      [...counts].map(([stream, { requests, rows, changed, startedAt, endedAt, skipped, failed }]) => {
        const tookMs = endedAt - startedAt
        return { stream, requests, rows, changed, tookMs, skipped, failed }
      }),
  }
}
