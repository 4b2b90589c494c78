/** Sync runs: when they started, how many requests they sent, how they ended. */
import { stringifyJson } from '../../core/json.ts'
import type { StreamReport, StreamStanding, SyncMode, SyncOutcome } from '../../core/mirror.ts'
import type { StreamName } from '../../core/stream-specs.ts'
import { toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { newId } from '../database/new-id.ts'
import { addSample, parseSamples } from '../request-counts.ts'
import type { ProjectContext } from './project-context.ts'

type ProjectDb = Pick<ProjectContext, 'db' | 'project'>

/** `holder`: token of its lock; null = none, so the next process that acquires a lock closes the run as abandoned. */
export async function startRun(
  { db, project }: ProjectDb,
  mode: SyncMode,
  now: number,
  holder: string | null = null,
): Promise<string> {
  const id = newId(now)
  await db
    .insertInto('sync_runs')
    .values({
      project_id: project,
      id,
      mode,
      started_at: toTimestamp(now),
      requests: 0,
      rows_read: 0,
      rows_changed: 0,
      strings_escaped: 0,
      beat_at: now,
      request_log: stringifyJson([[now, 0]]),
      holder,
    })
    .execute()
  return id
}

/** `requests`: how many the run has sent so far. */
export async function recordRunHeartbeat(
  { db, project }: ProjectDb,
  run: string,
  requests: number,
  now: number,
): Promise<void> {
  const thisRun = db.selectFrom('sync_runs').where('project_id', '=', project).where('id', '=', run)
  const row = await thisRun.select('request_log').executeTakeFirst()
  await db
    .updateTable('sync_runs')
    .set({
      requests,
      beat_at: now,
      request_log: stringifyJson(addSample(parseSamples(row?.request_log), [now, requests])),
    })
    .where((eb) => eb.and({ project_id: project, id: run }))
    .execute()
}

export async function finishRun(
  projectDb: ProjectDb,
  run: string,
  outcome: SyncOutcome,
  reports: readonly StreamReport[],
  now: number,
): Promise<void> {
  const sum = (of: (report: StreamReport) => number) => reports.reduce((total, report) => total + of(report), 0)
  const at = toTimestamp(now)
  for (const report of reports) await recordStreamResult(projectDb, report, at)
  await projectDb.db
    .updateTable('sync_runs')
    .set({
      finished_at: at,
      outcome,
      rows_read: sum((report) => report.rows),
      rows_changed: sum((report) => report.changed),
      streams: JSON.stringify(reports),
    })
    .where((eb) => eb.and({ project_id: projectDb.project, id: run }))
    .execute()
}

/** Stores the stream's result. A stream that failed or was skipped keeps the time of its last complete read. */
async function recordStreamResult(
  { db, project }: ProjectDb,
  { stream, skipped, failed }: StreamReport,
  at: string,
): Promise<void> {
  const syncedAt = skipped === null && failed === null ? { synced_at: at } : {}
  const state = { skipped, failed, ...syncedAt }
  const since = failed === null ? null : at
  await db
    .insertInto('sync_streams')
    .values({ project_id: project, stream, synced_at: null, ...state, failed_since: since })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'stream']).doUpdateSet((eb) => ({
        ...state,
        failed_since: failed === null ? null : eb.fn.coalesce('sync_streams.failed_since', eb.val(at)),
      })),
    )
    .execute()
}

/** The state of each stream after finished runs; a stream that no run has tried is missing. */
export async function readStreamStandings(
  { db, project }: ProjectDb,
  streams: readonly StreamName[],
): Promise<Map<StreamName, StreamStanding>> {
  const rows = await db.selectFrom('sync_streams').selectAll().where('project_id', '=', project).execute()
  const toStanding = ({ synced_at, skipped }: (typeof rows)[number]): StreamStanding =>
    synced_at !== null ? 'ended' : skipped !== null ? 'skipped' : 'unfinished'
  const known = new Map(rows.map((row) => [row.stream as StreamName, toStanding(row)]))
  return new Map([...known].filter(([stream]) => streams.includes(stream)))
}

/** Closes the runs of dead processes as failed, at the time of their last heartbeat. */
export async function failAbandonedRuns(trx: Db, project: string): Promise<void> {
  const abandoned = await trx
    .selectFrom('sync_runs')
    .select(['id', 'beat_at'])
    .where('project_id', '=', project)
    .where('finished_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('holder', 'is', null),
        eb('holder', 'not in', eb.selectFrom('sync_locks').select('token').where('project_id', '=', project)),
      ]),
    )
    .execute()
  for (const { id, beat_at } of abandoned) {
    await trx
      .updateTable('sync_runs')
      .set({ outcome: 'failed', finished_at: toTimestamp(beat_at) })
      .where((eb) => eb.and({ project_id: project, id }))
      .execute()
  }
}

/** Deletes runs that changed nothing and ended before `olderThan` (RFC 3339). No row refers to such a run. */
export async function deleteIdleRuns(db: Db, olderThan: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('sync_runs')
    .where('finished_at', '<', olderThan)
    .where((eb) => eb.and({ rows_changed: 0, strings_escaped: 0 }))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
