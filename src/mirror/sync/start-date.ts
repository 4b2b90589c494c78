/** Where the reading of a stream begins: at its start date, or some minutes behind its cursor. */
import { hasStartDate, type StreamName } from '../../../schema/stream-specs.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'
import { streamRange } from '../core/mirrored-range.ts'
import {
  applyLookBack,
  isImplausibleCursor,
  type PendingRanges,
} from '../core/pagination/list-cursor.ts'
import type { SyncRun } from './run.ts'

/** The ranges of a stored cursor, extended backwards, because rows may appear late. */
export function withLookBack(
  run: SyncRun,
  stream: StreamName,
  ranges: PendingRanges,
): PendingRanges {
  const { lookBackSeconds } = run
  const options = {
    lookBackSeconds,
    now: Math.floor(run.now() / 1000),
    start: streamRange(run, stream).lo,
  }
  const implausible = ranges.find(({ lo, hi }) => hi === null && isImplausibleCursor(lo, options))
  if (implausible !== undefined) {
    const stood =
      `The cursor of ${stream} stood at ${rfc3339(implausible.lo)}, ` +
      "ahead of this machine's clock"
    run.notices.add(`${stood}: the whole stream is read again.`)
  }
  return applyLookBack(ranges, options)
}

/** The range before the start date of earlier runs, if the start date was moved back. */
export async function newlyCoveredRanges(run: SyncRun, stream: StreamName): Promise<PendingRanges> {
  if (!hasStartDate(stream)) return []
  const { lo } = streamRange(run, stream)
  const reached = parseTime(await run.mirror.readCursor(startDateCursor(stream)))
  return reached === undefined || lo >= reached ? [] : [{ lo, hi: reached }]
}

/** Stores how far back the stream has been read. */
export async function storeStartDate(run: SyncRun, stream: StreamName): Promise<void> {
  if (!hasStartDate(stream)) return
  const name = startDateCursor(stream)
  const reached = parseTime(await run.mirror.readCursor(name))
  const { lo } = streamRange(run, stream)
  if (reached !== undefined && reached <= lo) return
  await run.mirror.writeCursor(name, rfc3339(lo))
}

const startDateCursor = (stream: StreamName) => `${stream}:start`
