/** The status report of a project, read from the warehouse alone. */
import { type RawBuilder, sql } from 'kysely'
import type { FailureReport, GapReport, StatusReport } from '../core/command-reports.ts'
import { clockToleranceSeconds } from '../core/cursor-limit.ts'
import { failedStream, type JobFailure } from '../core/job-failure.ts'
import { clockOffsetCursor } from '../core/mirror.ts'
import type { Rate } from '../core/rate-limit/rate.ts'
import { isChildStream, type StreamName, streamNames, streamSpecs } from '../core/stream-specs.ts'
import { toTimestamp } from '../core/time.ts'
import { listRollupDefinitions } from './analytics/rollup-changes.ts'
import { countWaitingConversations } from './analytics/waiting-facts.ts'
import type { Db } from './database/connection-pool.ts'
import { WarehouseError } from './database/explain-error.ts'
import { listFailures } from './job-failures.ts'
import { readCursor } from './mirror/cursors.ts'
import { countFutureRows } from './mirror/future-rows.ts'
import { countPendingChildren } from './mirror/pending-children.ts'
import { findLockHolder } from './mirror/stream-locks.ts'
import { hasDeletedAt } from './mirror/stream-tables.ts'
import { effectiveStatus } from './outbox/cancellations.ts'
import { countWithoutProject, readProjectIncidents } from './projects.ts'
import { countRecentRequests } from './request-counts.ts'
import { listLiveWorkers } from './workers.ts'

/** Gaps in the report; `sync_gaps` has the rest. */
const maxGaps = 1000

/** Future-dated rows are counted up to this number. */
const maxFutureRows = 10_000

/** `selected`: the streams that the project mirrors. Pending children of other streams do not count. */
export async function readStatus(
  db: Db,
  project: string,
  now: number,
  rate: Rate,
  selected: readonly StreamName[] = streamNames,
): Promise<StatusReport> {
  const failures = await listFailures(db, project)
  const statusOf = await readStreamStatuses(db, project, failures)
  const clockOffset = await readClockOffset(db, project)
  const cursorLimit = Math.floor(now / 1000) + Math.min(0, clockOffset ?? 0) + clockToleranceSeconds
  const streams = []
  for (const stream of streamNames) {
    const { unreadable, ...counted } = await countRows(db, project, stream).catch(toUnreadable)
    const due =
      selected.includes(stream) && isChildStream(stream) ? await countPendingChildren({ db, project }, stream, now) : 0
    const streamStatus = statusOf(stream)
    const ahead = unreadable === null ? await countFutureRows({ db, project }, stream, cursorLimit, maxFutureRows) : 0
    streams.push({ stream, ...counted, ...streamStatus, failed: streamStatus.failed ?? unreadable, ahead, due })
  }
  const due = streams.reduce((total, { due }) => total + due, 0)
  const { paused, lost } = await readProjectIncidents(db, project, now)
  return {
    project,
    streams,
    failures: failures.map(toFailureReport),
    lastRun: await readLastRun(db, project),
    clockOffset,
    running: await findLockHolder(db, project, now),
    workers: await listLiveWorkers(db, now),
    paused,
    gaps: await listGaps(db, project),
    facts: await countWaitingConversations(db, project),
    rollups: await listRollupDefinitions(db, project),
    writebacks: await countWritebacks(db, project),
    nameless: await countWithoutProject(db),
    heldLanes: await countBlockedLanes(db, project),
    behaviours: await readBehaviours(db, project),
    budget: {
      usedInWindow: await countRecentRequests(db, project, rate.windowMs, now),
      limit: rate.requests,
      windowMs: rate.windowMs,
      forecastMs: Math.ceil((due * rate.windowMs) / rate.requests),
      lost,
    },
  }
}

/** Seconds that the service's clock is ahead, as the last sync measured it; null = not measured. */
async function readClockOffset(db: Db, project: string): Promise<number | null> {
  const offset = await readCursor({ db, project }, clockOffsetCursor)
  return offset === null || Number.isNaN(Number(offset)) ? null : Number(offset)
}

async function countRows(db: Db, project: string, stream: StreamName) {
  const spec = streamSpecs[stream]
  const table = sql.table(spec.table)
  const count = (where: RawBuilder<unknown>) =>
    sql`(select count(*) from ${table} where project_id = ${project} ${where})`
  const deletedCount = hasDeletedAt(spec.table) ? count(sql`and deleted_at is not null`) : sql`0`
  const newest =
    spec.timeColumn === null
      ? sql`null`
      : sql`(select max(${sql.ref(spec.timeColumn)}) from ${table} where project_id = ${project})`
  const { rows } = await sql<{ total: number; deleted: number; newest: string | null }>`
    select ${count(sql``)} as total, ${deletedCount} as deleted, ${newest} as newest`.execute(db)
  const { total = 0, deleted = 0, newest: at = null } = rows[0] ?? {}
  return { rows: total - deleted, deleted, newest: at, unreadable: null }
}

/** A table that is missing or unreadable must not hide the status of the others. */
function toUnreadable(error: unknown) {
  if (error instanceof WarehouseError && error.kind === 'unusable') {
    return { rows: 0, deleted: 0, newest: null, unreadable: error.message }
  }
  throw error
}

/** When each stream was last read to its end, and why the last attempt failed. */
async function readStreamStatuses(db: Db, project: string, failures: readonly JobFailure[]) {
  const rows = await db.selectFrom('sync_streams').selectAll().where('project_id', '=', project).execute()
  return (stream: StreamName) => {
    const {
      synced_at: syncedAt = null,
      skipped = null,
      failed = null,
      failed_since: failedSince = null,
    } = rows.find((row) => row.stream === stream) ?? {}
    // An error that ended a worker's sync job is recorded in `sync_failures`, as the run could not record it.
    const jobFailure = failures.find((failure) => failedStream(failure) === stream)
    if (jobFailure === undefined) return { syncedAt, skipped, failed, failedSince }
    return { syncedAt, skipped, failed: failed ?? jobFailure.reason, failedSince: toFailureReport(jobFailure).since }
  }
}

function toFailureReport({ job, subject, since, lastAt, failures, reason }: JobFailure): FailureReport {
  return { job, subject, since: toTimestamp(since), lastAt: toTimestamp(lastAt), failures, reason }
}

async function readLastRun(db: Db, project: string): Promise<StatusReport['lastRun']> {
  const row = await db
    .selectFrom('sync_runs')
    .select(['id', 'mode', 'started_at as startedAt', 'finished_at as finishedAt', 'outcome', 'requests'])
    .where('project_id', '=', project)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return (row as StatusReport['lastRun'] | undefined) ?? null
}

/** The open gaps, oldest first, up to `maxGaps`. */
export async function listGaps(db: Db, project: string): Promise<GapReport[]> {
  const rows = await db
    .selectFrom('sync_gaps')
    .select(['stream', 'from_ts as from', 'to_ts as to', 'reason', 'found_at as foundAt'])
    .where('project_id', '=', project)
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .limit(maxGaps)
    .execute()
  return rows as GapReport[]
}

async function countWritebacks(db: Db, project: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select ${await effectiveStatus({ db, project })} as status, count(*) as count from writebacks
    where project_id = ${project} group by 1 order by 1`.execute(db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function countBlockedLanes(db: Db, project: string): Promise<number> {
  const { rows } = await sql<{ lanes: number }>`
    select count(distinct lane) as lanes from writebacks where project_id = ${project} and status = 'uncertain'`.execute(
    db,
  )
  return rows[0]?.lanes ?? 0
}

function readBehaviours(db: Db, project: string): Promise<StatusReport['behaviours'][number][]> {
  return db
    .selectFrom('service_behaviours')
    .select(['name', 'value', 'evidence', 'learned_at as learnedAt'])
    .where('project_id', '=', project)
    .orderBy('name')
    .execute()
}
