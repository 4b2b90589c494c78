/** How far back a stream goes, and what is left to read when somebody moves that further back. */

import { allTime, type TimeRange } from '../core/pagination/pending-ranges.ts'
import type { MirrorRow, StreamName } from '../core/row.ts'
import { parseTime, rfc3339 } from '../core/time.ts'
import type { SyncRun } from './deps.ts'

/** The streams that can be large and old. Rollups are read by days that are missing, and need no note. */
const datedStreams: ReadonlySet<StreamName> = new Set(['calls', 'visitor_activity'])

/** All that a stream is to hold. */
export function streamRange(run: SyncRun, stream: StreamName): TimeRange {
  return datedStreams.has(stream) ? { ...allTime, lo: run.startDate ?? 0 } : allTime
}

/** The time before what earlier passes went back to, if this one is to go further back. */
export async function newlyCoveredRanges(run: SyncRun, stream: StreamName): Promise<readonly TimeRange[]> {
  const { lo } = streamRange(run, stream)
  const reached = parseTime(await run.mirror.readCursor(startDateCursor(stream)))
  return reached === undefined || lo >= reached ? [] : [{ lo, hi: reached }]
}

/** Whether a row is older than what the project is to hold: a page may reach further back than was asked for. */
export function isBeforeStartDate({ startDate }: Pick<SyncRun, 'startDate'>, { columns }: MirrorRow): boolean {
  const at = parseTime(columns.occurred_at)
  return startDate !== null && at !== undefined && at < startDate
}

/** Notes how far back the stream has been read, now that it has. */
export async function storeStartDate(run: SyncRun, stream: StreamName): Promise<void> {
  if (!datedStreams.has(stream)) return
  const name = startDateCursor(stream)
  const reached = parseTime(await run.mirror.readCursor(name))
  const { lo } = streamRange(run, stream)
  if (reached !== undefined && reached <= lo) return
  await run.mirror.commit({ stream, rows: [], askedAt: run.now(), cursors: { [name]: rfc3339(lo) } })
}

const startDateCursor = (stream: StreamName) => `${stream}:start`
