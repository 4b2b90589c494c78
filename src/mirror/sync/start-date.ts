/** Where the reading of a stream begins: at its start date, or some minutes behind its cursor. */

import type { MirrorRow } from '../../../schema/row.ts'
import { hasStartDate, type StreamName } from '../../../schema/stream-specs.ts'
import { parseJson } from '../../values/json.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'
import type { PendingRanges, TimeRange } from '../core/pagination/pending-ranges.ts'
import { allTime, applyLookBack, isImplausibleCursor } from '../core/pagination/pending-ranges.ts'
import type { ChildListStream } from '../streams/stream.ts'
import type { SyncRun } from './run.ts'

/** The time range that a stream mirrors. */
export function streamRange({ startDate }: Pick<SyncRun, 'startDate'>, stream: StreamName): TimeRange {
  return hasStartDate(stream) ? { ...allTime, lo: startDate ?? 0 } : allTime
}

/** The ranges of a stored cursor, extended backwards by the lookback window, because rows may appear late. */
export function withLookBack(run: SyncRun, stream: StreamName, ranges: PendingRanges): PendingRanges {
  const { lookBackSeconds } = run
  const options = { lookBackSeconds, now: Math.floor(run.now() / 1000), start: streamRange(run, stream).lo }
  const implausible = ranges.find(({ lo, hi }) => hi === null && isImplausibleCursor(lo, options))
  if (implausible !== undefined) {
    const stood = `The cursor of ${stream} stood at ${rfc3339(implausible.lo)}, ahead of this machine's clock`
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

/** The row is older than the start date. Pages may reach further back than requested. */
export function isBeforeStartDate({ startDate }: Pick<SyncRun, 'startDate'>, { columns }: MirrorRow): boolean {
  const at = parseTime(columns.occurred_at)
  return startDate !== null && at !== undefined && at < startDate
}

/** A stored row that the service is not asked for, as the start date has moved since it was read. */
export function isStoredBeforeStartDate(
  deps: Pick<SyncRun, 'startDate'>,
  stream: Pick<ChildListStream, 'name' | 'parseRows'>,
  parent: string,
  raw: string,
): boolean {
  if (deps.startDate === null || !hasStartDate(stream.name)) return false
  const [row] = stream.parseRows([parseJson(raw)], parent).rows
  return row !== undefined && isBeforeStartDate(deps, row)
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
