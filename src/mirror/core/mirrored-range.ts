/** Which rows of a stream are mirrored: a sync stores them, verify and audits expect them. */
import type { MirrorRow } from '../../../schema/row.ts'
import { dayColumn, hasStartDate, type StreamName } from '../../../schema/stream-specs.ts'
import type { Json } from '../../values/json.ts'
import { type EpochSeconds, parseTime } from '../../values/time.ts'
import { allTime, type TimeRange } from './pagination/list-cursor.ts'

export type RangeSettings = {
  /** How far back calls, analytics and activity go; null = without limit. */
  readonly startDate: EpochSeconds | null
}

export function streamRange({ startDate }: RangeSettings, stream: StreamName): TimeRange {
  return hasStartDate(stream) ? { ...allTime, lo: startDate ?? 0 } : allTime
}

/** Some rows of the stream may be none that are mirrored. */
export function isLimited({ startDate }: RangeSettings, stream: StreamName): boolean {
  return startDate !== null && hasStartDate(stream)
}

/** Pages reach further back than requested, and stored rows, if the start date has moved since. */
export function isMirrored(
  settings: RangeSettings,
  stream: StreamName,
  { columns }: MirrorRow<Json>,
): boolean {
  const column = isLimited(settings, stream) ? dayColumn(stream) : null
  const at = column === null ? undefined : parseTime(columns[column])
  return at === undefined || at >= (settings.startDate ?? at)
}
