/** Counts what each stream of a run did, and tells whoever watches. */
import type { StreamReport } from '../core/mirror.ts'
import type { SyncProgress } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { EpochMs } from '../core/time.ts'

type Count = {
  requests: number
  rows: number
  changed: number
  left: number | null
  skipped: string | null
  failed: string | null
  readonly startedAt: EpochMs
  endedAt: EpochMs
}

export type Tally = {
  /** The stream begins. */
  readonly open: (stream: StreamName) => void
  readonly request: (stream: StreamName) => void
  /** A page was stored. `left`: requests still to make, null = unknown. */
  readonly stored: (stream: StreamName, rows: number, changed: number) => void
  readonly left: (stream: StreamName, requests: number | null) => void
  readonly skip: (stream: StreamName, scope: string) => void
  readonly fail: (stream: StreamName, why: string) => void
  readonly close: (stream: StreamName) => void
  readonly reports: () => readonly StreamReport[]
}

export function createTally(now: () => EpochMs, onProgress: (progress: SyncProgress) => void): Tally {
  const counts = new Map<StreamName, Count>()
  const count = (stream: StreamName): Count => {
    const known = counts.get(stream)
    if (known !== undefined) return known
    const startedAt = now()
    const zero = { requests: 0, rows: 0, changed: 0, left: null, skipped: null, failed: null }
    const fresh: Count = { ...zero, startedAt, endedAt: startedAt }
    counts.set(stream, fresh)
    return fresh
  }
  const tell = (stream: StreamName, state: SyncProgress['state']) => {
    const { requests, rows, changed, left } = count(stream)
    onProgress({ stream, state, rows, changed, requests, left })
  }
  return {
    open: (stream) => tell(stream, 'running'),
    request: (stream) => {
      count(stream).requests += 1
    },
    stored: (stream, rows, changed) => {
      const counted = count(stream)
      counted.rows += rows
      counted.changed += changed
      counted.endedAt = now()
      if (counted.left !== null && counted.left > 0) counted.left -= 1
      tell(stream, 'running')
    },
    left: (stream, requests) => {
      count(stream).left = requests
      tell(stream, 'running')
    },
    skip: (stream, scope) => {
      count(stream).skipped = scope
      tell(stream, 'skipped')
    },
    fail: (stream, why) => {
      count(stream).failed ??= why
      tell(stream, 'failed')
    },
    close: (stream) => {
      const { skipped, failed } = count(stream)
      count(stream).left = 0
      if (skipped === null && failed === null) tell(stream, 'done')
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
