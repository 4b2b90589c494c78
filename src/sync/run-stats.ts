/** Counts what each stream of a run did, and reports the progress. */

import type { SyncProgress } from '../core/command-reports.ts'
import type { StreamReport } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import type { EpochMs } from '../core/time.ts'

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

export type RunStats = {
  readonly start: (stream: StreamName) => void
  readonly recordRequest: (stream: StreamName) => void
  /** A page was stored. */
  readonly recordPage: (stream: StreamName, rows: number, changed: number) => void
  /** Requests still to make; null = unknown. */
  readonly setRemaining: (stream: StreamName, requests: number | null) => void
  readonly skip: (stream: StreamName, scope: string) => void
  readonly fail: (stream: StreamName, why: string) => void
  readonly finish: (stream: StreamName) => void
  readonly reports: () => readonly StreamReport[]
}

export function createRunStats(now: () => EpochMs, onProgress: (progress: SyncProgress) => void): RunStats {
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
    start: (stream) => reportProgress(stream, 'running'),
    recordRequest: (stream) => {
      count(stream).requests += 1
    },
    recordPage: (stream, rows, changed) => {
      const streamCounts = count(stream)
      streamCounts.rows += rows
      streamCounts.changed += changed
      streamCounts.endedAt = now()
      if (streamCounts.left !== null && streamCounts.left > 0) streamCounts.left -= 1
      reportProgress(stream, 'running')
    },
    setRemaining: (stream, requests) => {
      count(stream).left = requests
      reportProgress(stream, 'running')
    },
    skip: (stream, scope) => {
      count(stream).skipped = scope
      reportProgress(stream, 'skipped')
    },
    fail: (stream, why) => {
      count(stream).failed ??= why
      reportProgress(stream, 'failed')
    },
    finish: (stream) => {
      const { skipped, failed } = count(stream)
      count(stream).left = 0
      if (skipped === null && failed === null) reportProgress(stream, 'done')
    },
    reports: () =>
      [...counts].map(([stream, { requests, rows, changed, startedAt, endedAt, skipped, failed }]) => ({
        stream,
        requests,
        rows,
        changed,
        tookMs: endedAt - startedAt,
        skipped,
        failed,
      })),
  }
}
