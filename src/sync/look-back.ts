/** Where an incremental pass begins, and what is to be said of a cursor that no clock can have led so far. */

import { applyLookBack, isImplausibleCursor } from '../core/pagination/look-back.ts'
import type { TimeRange } from '../core/pagination/pending-ranges.ts'
import type { StreamName } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import type { SyncRun } from './deps.ts'
import { streamRange } from './start-date.ts'

/** The ranges of a stored cursor, begun so much earlier as rows may be late. */
export function withLookBack(run: SyncRun, stream: StreamName, ranges: readonly TimeRange[]): readonly TimeRange[] {
  const options = { by: run.lookBack, now: Math.floor(run.now() / 1000), start: streamRange(run, stream).lo }
  const implausible = ranges.find(({ lo, hi }) => hi === null && isImplausibleCursor(lo, options))
  if (implausible !== undefined) {
    run.notices.add(
      `The cursor of ${stream} stood at ${rfc3339(implausible.lo)}, ahead of this machine's clock: all of it is read again.`,
    )
  }
  return applyLookBack(ranges, options)
}
