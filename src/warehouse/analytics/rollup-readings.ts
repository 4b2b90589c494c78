/** The service's rollups as they were last read, and which of their days can be compared. */
import { sql } from 'kysely'
import { isFinalDay } from '../../core/analytics/compare-rollup-day.ts'
import type { RollupWindow } from '../../core/analytics/rollup-days.ts'
import { clockOffsetCursor } from '../../core/mirror.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { readCursor } from '../mirror/cursors.ts'
import { epochSeconds } from './sql-time.ts'

export type RollupReading = RollupWindow & {
  /** The local date. */
  readonly date: string
  readonly isFinal: boolean
  readonly metrics: ReadonlyMap<string, number>
}

/** Days whose numbers are learned from. */
const maxFinalDays = 60
/** Some more, as the last ones may not be final. */
const maxDays = maxFinalDays + 10

/** The last days of the rollups, oldest first, 60 of them final ones at most. */
export async function readRollupReadings(context: ProjectDb): Promise<RollupReading[]> {
  const windows = await readWindows(context)
  const oldest = windows[0]?.from ?? 0
  const metrics = await readMetrics(context, oldest)
  const [gaps, incomplete] = [await readGaps(context), await readIncompleteConversations(context, oldest)]
  const mirroredAt = await readMirroredAt(context)
  const readings = windows.map((window): RollupReading => {
    const isTouched = (spans: readonly TimeSpan[]) =>
      spans.some(({ from, to }) => from < window.to && to >= window.from)
    const day = { endsAt: window.to, readAt: window.readAt, mirroredAt }
    const isFinal = isFinalDay({ ...day, hasGap: isTouched(gaps), isComplete: !isTouched(incomplete) })
    return { ...window, isFinal, metrics: metrics.get(window.from) ?? new Map() }
  })
  const first = readings.filter(({ isFinal }) => isFinal).at(-maxFinalDays)
  return first === undefined ? readings : readings.slice(readings.indexOf(first))
}

async function readWindows({ db, project }: ProjectDb) {
  const rows = await db
    .selectFrom('analytics_rollups')
    .select(['window_from', 'window_to', 'read_at', 'day'])
    .where('project_id', '=', project)
    .where('read_at', 'is not', null)
    .where('day', 'is not', null)
    .orderBy('window_from', 'desc')
    .limit(maxDays)
    .execute()
  return rows.reverse().map((row) => ({
    from: parseTime(row.window_from) ?? 0,
    to: parseTime(row.window_to) ?? 0,
    readAt: parseTime(row.read_at) ?? 0,
    date: row.day ?? '',
  }))
}

async function readMetrics({ db, project }: ProjectDb, since: EpochSeconds) {
  const rows = await db
    .selectFrom('analytics_metrics')
    .select(['window_from', 'metric', 'value'])
    .where('project_id', '=', project)
    .where('window_from', '>=', rfc3339(since))
    .execute()
  const metrics = new Map<EpochSeconds, Map<string, number>>()
  for (const { window_from, metric, value } of rows) {
    const from = parseTime(window_from) ?? 0
    const ofDay = metrics.get(from) ?? new Map<string, number>()
    metrics.set(from, ofDay.set(metric, value))
  }
  return metrics
}

/** Both ends are included. */
type TimeSpan = { readonly from: EpochSeconds; readonly to: EpochSeconds }

/** Without those of single conversations, which know themselves whether they are complete. */
async function readGaps({ db, project }: ProjectDb): Promise<TimeSpan[]> {
  const rows = await db
    .selectFrom('sync_gaps')
    .select(['from_ts', 'to_ts'])
    .where('project_id', '=', project)
    .where('resolved_at', 'is', null)
    .where('stream', 'not in', ['analytics', 'availability'])
    .where('subject', 'not like', 'parent:%')
    .execute()
  return rows.map(({ from_ts, to_ts }) => ({
    from: parseTime(from_ts) ?? Number.NEGATIVE_INFINITY,
    to: parseTime(to_ts) ?? Number.POSITIVE_INFINITY,
  }))
}

/** From the first to the last message that is known. */
async function readIncompleteConversations({ db, kind, project }: ProjectDb, since: EpochSeconds): Promise<TimeSpan[]> {
  const { rows } = await sql<{ from: EpochSeconds | null; to: EpochSeconds | null }>`
    select ${epochSeconds(kind, 'created_at')} as "from", ${epochSeconds(kind, 'last_message_at')} as "to"
    from conversations where project_id = ${project} and deleted_at is null
      and (last_message_at is null or last_message_at >= ${rfc3339(since)})
      and (not coalesce(messages_complete, false) or id in (
        select parent_id from sync_children
        where project_id = ${project} and stream = 'messages' and due_at is not null and wanted > fetched))`.execute(db)
  return rows.map(({ from, to }) => ({ from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY }))
}

/** When all lists had been read to their end, by the service's clock; 0 = one of them never was. */
async function readMirroredAt(context: ProjectDb): Promise<EpochSeconds> {
  const rows = await context.db
    .selectFrom('sync_streams')
    .select('synced_at')
    .where('project_id', '=', context.project)
    .where('stream', 'in', ['conversations', 'visitors', 'calls'])
    .where('skipped', 'is', null)
    .execute()
  const clockOffset = Number((await readCursor(context, clockOffsetCursor)) ?? 0)
  const times = rows.map(({ synced_at }) => parseTime(synced_at) ?? Number.NEGATIVE_INFINITY)
  return times.length === 0 ? 0 : Math.min(...times) + clockOffset
}
