/** The state of every stream, for workers: when it was last synced, and what is left to read. */
import { sql } from 'kysely'
import { type ChildStreamName, isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import type { StreamReport } from '../../mirror/mirror.ts'
import { countAllPending } from '../../mirror/sql/pending-children.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'

/** Child streams that have pending children, by project. */
export async function listAllPendingStreams(
  db: Db,
  now: EpochMs,
): Promise<ReadonlyMap<string, readonly ChildStreamName[]>> {
  return new Map([...(await countAllPending(db, now))].map(([project, counts]) => [project, [...counts.keys()]]))
}

/** Nothing of these streams is left to read. A stream that was skipped for lack of a scope stays as it is. */
export async function markSynced(
  db: Db,
  project: ProjectId,
  streams: readonly StreamName[],
  now: EpochMs,
): Promise<void> {
  if (streams.length === 0) return
  const state = { synced_at: toTimestamp(now), failed: null, failed_since: null }
  await db
    .insertInto('sync_streams')
    .values(streams.map((stream) => ({ project_id: project, stream, skipped: null, ...state })))
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'stream']).doUpdateSet(state).where('sync_streams.skipped', 'is', null),
    )
    .execute()
}

/**
 * `ran`: when a reconcile and an audit of a stream (`stream/mode`) last began, without those that did not get to their end.
 * `oldestIdleAt`: when the oldest run without changes ended, as housekeeping deletes such runs after a while.
 */
export type ProjectRuns = {
  readonly firstAt: EpochMs
  readonly oldestIdleAt: EpochMs | null
  readonly ran: ReadonlyMap<string, EpochMs>
}

export async function readRuns(db: Db, since: EpochMs): Promise<ReadonlyMap<string, ProjectRuns>> {
  const from = toTimestamp(since)
  const projects = await sql<{ project: ProjectId; first: string; idle: string | null }>`
    select project_id as project, min(started_at) as first,
      min(case when rows_changed = 0 and strings_escaped = 0 then finished_at end) as idle
    from sync_runs group by project_id`.execute(db)
  const runs = await sql<{ project: ProjectId; at: string; outcome: string; streams: string }>`
    select project_id as project, started_at as at, outcome, streams from sync_runs
    where mode in ('reconcile', 'full') and outcome <> 'failed' and started_at >= ${from} order by id`.execute(db)
  const audits = await sql<{ project: ProjectId; at: string; stream: string }>`
    select project_id as project, finished_at as at, stream from sync_audits
    where finished_at >= ${from} order by id`.execute(db)
  // What an interrupted reconcile has left of a child stream is pending; a list has to be reconciled to its end.
  const reconciles = runs.rows.flatMap(({ project, at, outcome, streams }) =>
    (JSON.parse(streams) as readonly Pick<StreamReport, 'stream'>[])
      .filter(({ stream }) => outcome !== 'interrupted' || isChildStream(stream))
      .map(({ stream }) => ({ project, at, key: `${stream}/reconcile` })),
  )
  const all = [...reconciles, ...audits.rows.map(({ stream, ...audit }) => ({ ...audit, key: `${stream}/audit` }))]
  const byProject = Map.groupBy(all, ({ project }) => project)
  return new Map(
    projects.rows.map(({ project, first, idle }) => {
      const ran = new Map(byProject.get(project)?.map(({ key, at }) => [key, Date.parse(at)]))
      return [project, { firstAt: Date.parse(first), oldestIdleAt: idle === null ? null : Date.parse(idle), ran }]
    }),
  )
}
