/** Where an incremental sync begins: some minutes behind its cursor, because rows may appear late. */
import { applyLookBack, isImplausibleCursor, type PendingRanges } from '../core/pagination/pending-ranges.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { rfc3339 } from '../core/time.ts'
import type { SyncRun } from './run.ts'
import { streamRange } from './start-date.ts'

/** The ranges of a stored cursor, extended backwards by the lookback window. */
export function withLookBack(run: SyncRun, stream: StreamName, ranges: PendingRanges): PendingRanges {
  const { lookBackSeconds } = run
  const options = { lookBackSeconds, now: Math.floor(run.now() / 1000), start: streamRange(run, stream).lo }
  const implausible = ranges.find(({ lo, hi }) => hi === null && isImplausibleCursor(lo, options))
  if (implausible !== undefined) {
    run.notices.add(
      `The cursor of ${stream} stood at ${rfc3339(implausible.lo)}, ahead of this machine's clock: the whole stream is read again.`,
    )
  }
  return applyLookBack(ranges, options)
}
