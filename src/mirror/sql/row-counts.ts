/** Remembered numbers of rows, deleted ones included: counting a million takes seconds. */
import { sql } from 'kysely'
import { hasDeletedAt } from '../../../schema/mirror-tables.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochMs, hourMs, minuteMs, toTimestamp } from '../../values/time.ts'
import { countRowsOf } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { StreamReport } from '../core/reports.ts'

/** The streams that have been counted. */
export async function readRowCounts({
  db,
  project,
}: ProjectDb): Promise<ReadonlyMap<StreamName, RowCount>> {
  const { rows } = await sql<{ stream: StreamName; count: number; at: string }>`
    select stream, counted_rows as count, counted_at as at from sync_streams
    where project_id = ${project} and counted_rows is not null and counted_at is not null`.execute(
    db,
  )
  return new Map(
    rows.map(({ stream, count, at }) => [
      stream,
      { rows: Number(count), countedAt: Date.parse(at) },
    ]),
  )
}

/** After a sync: counts again where that is due. `changed`: how many rows it changed. */
export async function rememberRowCounts(
  context: ProjectDb,
  reports: readonly StreamReport[],
  now: EpochMs,
) {
  const { db, project } = context
  const known = await readRowCounts(context)
  for (const { stream, changed } of reports) {
    if (!isCountDue(known.get(stream) ?? null, changed, now)) continue
    const count = await countRows(context, stream)
    await sql`
      update sync_streams set counted_rows = ${count}, counted_at = ${toTimestamp(now)}
      where project_id = ${project} and stream = ${stream}`.execute(db)
  }
}

/** Deleted ones included. */
function countRows({ db, project }: ProjectDb, stream: StreamName): Promise<number> {
  const table = sql.table(streamSpecs[stream].table)
  return countRowsOf(db, sql`${table} where project_id = ${project}`)
}

/** Without the deleted ones, and how many these are. `countedAt`: null = now. */
export async function countMirrored(
  context: ProjectDb,
  stream: StreamName,
  known: RowCount | undefined,
) {
  const { table } = streamSpecs[stream]
  const shown = countToShow(known ?? null)
  const total = shown?.rows ?? (await countRows(context, stream))
  const isDeleted = hasDeletedAt(table) ? sql`deleted_at is not null` : sql`1 = 0`
  const ofDeleted = sql`${sql.table(table)} where project_id = ${context.project} and ${isDeleted}`
  const deleted = await countRowsOf(context.db, ofDeleted)
  return {
    rows: total - deleted,
    deleted,
    countedAt: shown === null ? null : toTimestamp(shown.countedAt),
  }
}

/** Reading a count must be fast, and counting must not cost much. */
export type RowCount = { readonly rows: number; readonly countedAt: EpochMs }

/** A million rows take a tenth of a second, so a table of many millions is counted more rarely. */
const rowsPerInterval = 1_000_000

/** Soon where `changed` is more than one row in a hundred, otherwise hourly. */
export function isCountDue(known: RowCount | null, changed: number, now: EpochMs): boolean {
  if (changed === 0) return false
  if (known === null) return true
  const intervals = Math.max(1, known.rows / rowsPerInterval)
  const isLargeChange = changed * 100 > known.rows
  return now - known.countedAt >= intervals * (isLargeChange ? minuteMs : hourMs)
}

/**
 * Fewer rows are counted when they are shown: that takes some milliseconds, even on a slow disk.
 */
const worthRemembering = 50_000

/** The count to show without counting; null: count now. */
export function countToShow(known: RowCount | null): RowCount | null {
  return known !== null && known.rows >= worthRemembering ? known : null
}
