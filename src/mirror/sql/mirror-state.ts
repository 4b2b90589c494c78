/** How much of a project is mirrored, and how current it is: read from the warehouse alone. */
import { type RawBuilder, sql } from 'kysely'
import {
  isChildStream,
  isListStream,
  isPagedStream,
  type StreamName,
  streamNames,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import {
  clockToleranceSeconds,
  type EpochMs,
  type EpochSeconds,
  parseTime,
  rfc3339,
} from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { WarehouseError } from '../../warehouse/explain-error.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type AuditEstimate, estimateDifferences, pooledMs } from '../core/audit.ts'
import { clockOffsetCursor } from '../core/mirror.ts'
import { allTime, isReadToEnd, parsePendingRanges } from '../core/pagination/list-cursor.ts'
import { listFinishedAudits } from './audits.ts'
import { countPendingParents } from './pending-children.ts'
import { countFutureRows } from './reader.ts'
import { countMirrored, type RowCount, readRowCounts } from './row-counts.ts'
import { findLockHolder } from './stream-locks.ts'
import { readCursor } from './sync-state.ts'

const maxFutureRows = 10_000

/** `selected`: the streams that the project mirrors. */
export async function readMirrorState(
  context: ProjectDb,
  selected: readonly StreamName[],
  now: EpochMs,
) {
  const clockOffset = await readClockOffset(context)
  const cursorLimit = Math.floor(now / 1000) + Math.min(0, clockOffset ?? 0) + clockToleranceSeconds
  const counts = await readRowCounts(context)
  const streams = []
  for (const stream of streamNames) {
    const rows = await describeRows(context, stream, counts.get(stream), cursorLimit)
    const due =
      selected.includes(stream) && isChildStream(stream)
        ? await countPendingParents(context, stream, now)
        : 0
    streams.push({ stream, ...rows, due })
  }
  /** `running`: the process that has been syncing for longest. */
  return { streams, clockOffset, running: await findLockHolder(context.db, context.project, now) }
}

/** What the audits of the last 30 days show. */
export async function readAuditEstimates(
  context: ProjectDb,
  now: EpochMs,
): Promise<readonly AuditEstimate[]> {
  return estimateDifferences(await listFinishedAudits(context, now - pooledMs), now)
}

/** Seconds that the service's clock is ahead, as the last sync measured it; null = not measured. */
async function readClockOffset(context: ProjectDb): Promise<number | null> {
  const offset = await readCursor(context, clockOffsetCursor)
  return offset === null || Number.isNaN(Number(offset)) ? null : Number(offset)
}

/**
 * A table that is unreadable must not hide the others. `ahead`: how many are dated in the future.
 */
async function describeRows(
  context: ProjectDb,
  stream: StreamName,
  known: RowCount | undefined,
  cursorLimit: EpochSeconds,
) {
  try {
    const counted = await countMirrored(context, stream, known)
    const newest = await readNewest(context, stream, streamSpecs[stream].timeColumn)
    const ahead = await countFutureRows(context, stream, cursorLimit, maxFutureRows)
    return { ...counted, newest, ahead, unreadable: null }
  } catch (error) {
    if (!(error instanceof WarehouseError) || error.kind !== 'unusable') throw error
    return {
      rows: 0,
      deleted: 0,
      countedAt: null,
      newest: null,
      ahead: 0,
      unreadable: error.message,
    }
  }
}

/** Reads all rows if the column has no index. Null: that of rows which only the list dates. */
export async function readNewest(context: ProjectDb, stream: StreamName, column: string | null) {
  const { db, project } = context
  if (column === null) return isListStream(stream) ? readLastSeen(context, stream) : null
  const { rows } = await sql<{ newest: string | null }>`
    select max(${sql.ref(column)}) as newest from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${project}`.execute(db)
  return rows[0]?.newest ?? null
}

/** The last second of a list whose rows were read; null: not to its end, or without times. */
async function readLastSeen(context: ProjectDb, stream: StreamName): Promise<string | null> {
  const ranges = parsePendingRanges(await readCursor(context, stream), allTime)
  const seen = ranges[0]?.lo ?? 0
  return isReadToEnd(ranges) && seen > 0 ? rfc3339(seen) : null
}

/** Older than any service of this kind: an earlier time comes from a wrong clock. */
const earliestPlausible = '2000-01-01T00:00:00Z'

/** The earliest time in the lists, by the indexed columns; null for an empty mirror. */
export async function earliestTime({ db, project }: ProjectDb): Promise<EpochSeconds | null> {
  const selects = streamNames.filter(isPagedStream).flatMap((stream) => {
    const { startColumn, table } = streamSpecs[stream]
    if (startColumn === null) return []
    return sql`select min(${sql.ref(startColumn)}) as at from ${sql.table(table)}
      where project_id = ${project} and ${sql.ref(startColumn)} >= ${earliestPlausible}`
  })
  return (await readTimes(db, sql.join(selects, sql` union all `)))[0] ?? null
}

/** By the indexed columns: messages, and conversations that are not handled. */
export async function latestMessageTime({ db, project }: ProjectDb): Promise<EpochSeconds | null> {
  const latest = sql`select max(created_at) as at from messages where project_id = ${project}
    union all select max(last_message_at) from conversations where project_id = ${project}
    and handled_at is null`
  return (await readTimes(db, latest)).at(-1) ?? null
}

/** In their order. */
async function readTimes(db: Db, query: RawBuilder<unknown>): Promise<EpochSeconds[]> {
  const { rows } = await sql<{ at: string | null }>`${query}`.execute(db)
  const times = rows.map(({ at }) => parseTime(at)).filter((at) => at !== undefined)
  return times.toSorted((a, b) => a - b)
}
