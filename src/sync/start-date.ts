/** How far back a stream goes, and what to read when the start date is moved back. */
import { allTime, type PendingRanges, type TimeRange } from '../core/pagination/pending-ranges.ts'
import type { MirrorRow } from '../core/row.ts'
import { hasStartDate, type StreamName } from '../core/stream-specs.ts'
import { parseTime, rfc3339 } from '../core/time.ts'
import type { SyncRun } from './run.ts'

/** The time range that a stream mirrors. */
export function streamRange({ startDate }: Pick<SyncRun, 'startDate'>, stream: StreamName): TimeRange {
  return hasStartDate(stream) ? { ...allTime, lo: startDate ?? 0 } : allTime
}

/** The range before the start date of earlier runs, if the start date was moved back. */
export async function newlyCoveredRanges(run: SyncRun, stream: StreamName): Promise<PendingRanges> {
  if (!hasStartDate(stream)) return []
  const { lo } = streamRange(run, stream)
  const reached = parseTime(await run.mirror.readCursor(startDateCursor(stream)))
  return reached === undefined || lo >= reached ? [] : [{ lo, hi: reached }]
}

/** The row is older than the start date. Pages may reach further back than requested. */
export function isBeforeStartDate({ startDate }: Pick<SyncRun, 'startDate'>, { columns }: MirrorRow): boolean {
  const at = parseTime(columns.occurred_at)
  return startDate !== null && at !== undefined && at < startDate
}

/** Stores how far back the stream has been read. */
export async function storeStartDate(run: SyncRun, stream: StreamName): Promise<void> {
  if (!hasStartDate(stream)) return
  const name = startDateCursor(stream)
  const reached = parseTime(await run.mirror.readCursor(name))
  const { lo } = streamRange(run, stream)
  if (reached !== undefined && reached <= lo) return
  await run.mirror.commit({ stream, rows: [], requestedAt: run.now(), cursors: { [name]: rfc3339(lo) } })
}

const startDateCursor = (stream: StreamName) => `${stream}:start`
