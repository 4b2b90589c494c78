/** Where an incremental pass begins, and what is to be said of a cursor that no clock can have led so far. */
import type { StreamName } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import { isAstray, lookBack } from '../core/walk/look-back.ts'
import type { Range } from '../core/walk/position.ts'
import type { Run } from './deps.ts'
import { startOf } from './start-date.ts'

/** The ranges of a stored cursor, begun so much earlier as rows may be late. */
export function behind(run: Run, stream: StreamName, ranges: readonly Range[]): readonly Range[] {
  const terms = { by: run.lookBack, now: Math.floor(run.now() / 1000), start: startOf(run, stream).lo }
  const astray = ranges.find(({ lo, hi }) => hi === null && isAstray(lo, terms))
  if (astray !== undefined) {
    run.notices.add(
      `The cursor of ${stream} stood at ${rfc3339(astray.lo)}, ahead of this machine's clock: all of it is read again.`,
    )
  }
  return lookBack(ranges, terms)
}
