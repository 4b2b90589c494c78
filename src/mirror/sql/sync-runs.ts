/** Sync runs: when they started, how many requests they sent, how they ended. */
import { sql } from 'kysely'
import type { ListStreamName, StreamName } from '../../../schema/stream-specs.ts'
import { addSample, parseSamples } from '../../service/sql/request-counts.ts'
import { stringifyJson } from '../../values/json.ts'
import type { ColumnRules } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { newId, type ProjectDb } from '../../warehouse/project-db.ts'
import type { StreamReport, SyncMode, SyncOutcome } from '../core/reports.ts'
import type { createDiscoveredFields } from './discovered-columns/discovered-fields.ts'
import { rememberRowCounts } from './row-counts.ts'

/** What the writes of a project's mirror share. */
export type ProjectContext = ProjectDb & {
  readonly fields: ReturnType<typeof createDiscoveredFields>
  /** The lists whose replaced versions are kept. */
  readonly history: readonly ListStreamName[]
  /** The rules that the rows of a page follow; undefined = nothing is private. */
  readonly columns: ColumnRules | undefined
  /** The sync run that stores rows now; null outside of a run. Mutable. */
  readonly run: { id: string | null }
}

/** `lockToken` null: the next process that acquires a lock closes the run as abandoned. */
export async function startRun(
  context: ProjectDb,
  mode: SyncMode,
  now: EpochMs,
  lockToken: string | null = null,
) {
  const { db, project } = context
  const id = newId(now)
  const counts = { requests: 0, rows_read: 0, rows_changed: 0, strings_escaped: 0 }
  const times = {
    started_at: toTimestamp(now),
    beat_at: now,
    request_log: stringifyJson([[now, 0]]),
  }
  await db
    .insertInto('sync_runs')
    .values({ project_id: project, id, mode, ...counts, ...times, lock_token: lockToken })
    .execute()
  return id
}

/** `requests`: how many the run has sent so far. */
export async function recordRunHeartbeat(
  { db, project }: ProjectDb,
  run: string,
  requests: number,
  now: EpochMs,
) {
  const { rows } = await sql<{ log: string | null }>`
    select request_log as log from sync_runs where project_id = ${project} and id = ${run}`.execute(
    db,
  )
  const log = stringifyJson(addSample(parseSamples(rows[0]?.log), [now, requests]))
  await sql`
    update sync_runs set requests = ${requests}, beat_at = ${now}, request_log = ${log}
    where project_id = ${project} and id = ${run}`.execute(db)
}

export async function finishRun(
  context: ProjectDb,
  run: string,
  outcome: SyncOutcome,
  reports: readonly StreamReport[],
  now: EpochMs,
): Promise<void> {
  const sum = (of: 'rows' | 'changed') => reports.reduce((total, report) => total + report[of], 0)
  const at = toTimestamp(now)
  for (const report of reports) await recordStreamResult(context, report, at)
  await sql`
    update sync_runs set finished_at = ${at}, outcome = ${outcome}, rows_read = ${sum('rows')},
      rows_changed = ${sum('changed')}, streams = ${JSON.stringify(reports)}
    where project_id = ${context.project} and id = ${run}`.execute(context.db)
  await rememberRowCounts(context, reports, now)
}

/**
 * Stores the stream's result. A stream that failed or was skipped keeps the time of its last
 * complete read.
 */
async function recordStreamResult(
  { db, project }: ProjectDb,
  { stream, skipped, failed }: StreamReport,
  at: string,
) {
  const syncedAt = skipped === null && failed === null ? { synced_at: at } : {}
  const state = { skipped, failed, ...syncedAt }
  const since = failed === null ? null : at
  await db
    .insertInto('sync_streams')
    .values({ project_id: project, stream, synced_at: null, ...state, failed_since: since })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'stream']).doUpdateSet((eb) => ({
        ...state,
        failed_since:
          failed === null ? null : eb.fn.coalesce('sync_streams.failed_since', eb.val(at)),
      })),
    )
    .execute()
}

/** When each stream was last read to its end (RFC 3339); a stream that never was is missing. */
export async function readLastReads({
  db,
  project,
}: ProjectDb): Promise<ReadonlyMap<StreamName, string>> {
  const { rows } = await sql<{ stream: StreamName; at: string }>`
    select stream, synced_at as at from sync_streams
    where project_id = ${project} and synced_at is not null`.execute(db)
  return new Map(rows.map(({ stream, at }) => [stream, at]))
}

/**
 * A stream that no run has tried is missing. `complete`: read to its end at least once. `skipped`:
 * never, for lack of a scope.
 */
export async function readStreamStatuses(
  { db, project }: ProjectDb,
  streams: readonly StreamName[],
) {
  const { rows } = await sql<{
    stream: StreamName
    status: 'complete' | 'skipped' | 'unfinished'
  }>`
    select stream, case when synced_at is not null then 'complete' when skipped is not null
    then 'skipped'
      else 'unfinished' end as status
    from sync_streams where project_id = ${project}`.execute(db)
  return new Map(
    rows.flatMap(({ stream, status }) => (streams.includes(stream) ? [[stream, status]] : [])),
  )
}

/** Closes the runs of dead processes as failed, at the time of their last heartbeat. */
export async function failAbandonedRuns(trx: Db, project: ProjectId): Promise<void> {
  const { rows } = await sql<{ id: string; beat_at: EpochMs }>`
    select id, beat_at from sync_runs where project_id = ${project} and finished_at is null
      and (lock_token is null
        or lock_token not in (select token from sync_locks where project_id = ${project}))`.execute(
    trx,
  )
  for (const { id, beat_at } of rows)
    await sql`
      update sync_runs set outcome = 'failed', finished_at = ${toTimestamp(beat_at)}
      where project_id = ${project} and id = ${id}`.execute(trx)
}

/** Adds to the run's count of strings that had to be escaped for the database. */
export async function addEscapedCount(trx: ProjectContext, count: number): Promise<void> {
  await sql`
    update sync_runs set strings_escaped = strings_escaped + ${count}
    where project_id = ${trx.project} and id = ${trx.run.id}`.execute(trx.db)
}
