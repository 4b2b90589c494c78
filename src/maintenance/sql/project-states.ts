/** The health of every mirror in numbers, and what is left to read of each stream. */
import { sql } from 'kysely'
import { isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import type { StreamReport } from '../../mirror/mirror.ts'
import { countAllPending } from '../../mirror/sql/pending-children.ts'
import { evaluateCircuits, mayBeOpen } from '../../outbox/send/circuit-breaker.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { isDeletableRun } from './retention.ts'

export type ProjectHealth = {
  readonly project: ProjectName
  /** Open gaps: data known to be missing. */
  readonly gaps: number
  readonly writebacks: Readonly<Record<string, number>>
  readonly streams: readonly {
    readonly stream: StreamName
    /** Time since the stream was last read completely; null = never. */
    readonly lagMs: Ms | null
    /** The longest time between two readings that the schedules plan; null = none reads it. */
    readonly intervalMs: Ms | null
    /** Parents whose children are still to be read. */
    readonly pendingChildren: number
    readonly isFailed: boolean
    /** Not read because the key lacks its scope. */
    readonly isSkipped: boolean
  }[]
  /** Null: this process has not used it yet. */
  readonly budget: BudgetView | null
  /** Nothing is read because the service denies the key. */
  readonly isPaused: boolean
  /** No write-back is sent because the warehouse went back in time. */
  readonly isHeld: boolean
  /** The circuit breaker is open: replies and notes, or those of an import, wait. */
  readonly isCircuitOpen: boolean
}

/** Of a project. Streams that have never been synced, or have nothing pending, are missing. */
export async function readProjectStates(db: Db, now: EpochMs) {
  const pending = await countAllPending(db, now)
  const gaps = await sql<{ project: ProjectId; count: number }>`
    select project_id as project, count(*) as count from sync_gaps
    where resolved_at is null group by project_id`.execute(db)
  const queue = await sql<{ project: ProjectId; status: string; count: number }>`
    select project_id as project, status, count(*) as count from writebacks
    group by project_id, status`.execute(db)
  const writebacks = Map.groupBy(queue.rows, ({ project }) => project)
  const states = await readStreamStates(db)
  return (project: ProjectId) => ({
    streams: states.get(project),
    pendingChildren: pending.get(project),
    gaps: gaps.rows.find((row) => row.project === project)?.count ?? 0,
    writebacks: Object.fromEntries(
      (writebacks.get(project) ?? []).map(({ status, count }) => [status, count]),
    ),
  })
}

/**
 * By project and stream. `at`: when the stream was last read to its end. `skipped`: the key lacked
 * its scope.
 */
export async function readStreamStates(db: Db) {
  const rows = await db.selectFrom('sync_streams').selectAll().execute()
  const toState = ({ stream, synced_at, failed, skipped }: (typeof rows)[number]) => {
    const at = synced_at === null ? null : Date.parse(synced_at)
    const state = { at, failed: failed !== null, skipped: skipped !== null }
    return [stream as StreamName, state] as const
  }
  const byProject = Map.groupBy(rows, (row) => row.project_id)
  return new Map(
    [...byProject].map(([project, ofProject]) => [project, new Map(ofProject.map(toState))]),
  )
}

/** Nothing of these is left to read, except of one that was skipped for lack of a scope. */
export async function markSynced(
  db: Db,
  project: ProjectId,
  streams: readonly StreamName[],
  now: EpochMs,
) {
  if (streams.length === 0) return
  const state = { synced_at: toTimestamp(now), failed: null, failed_since: null }
  await db
    .insertInto('sync_streams')
    .values(streams.map((stream) => ({ project_id: project, stream, skipped: null, ...state })))
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'stream'])
        .doUpdateSet(state)
        .where('sync_streams.skipped', 'is', null),
    )
    .execute()
}

/**
 * `ran`: when a reconcile and an audit (`stream/mode`) last began that got to its end.
 * `oldestIdleAt`: when the oldest of the runs ended that housekeeping is to delete.
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
      min(case when ${isDeletableRun} then finished_at end) as idle
    from sync_runs run group by project_id`.execute(db)
  const runs = await sql<{ project: ProjectId; at: string; outcome: string; streams: string }>`
    select project_id as project, started_at as at, outcome, streams from sync_runs
    where mode in ('reconcile', 'full') and outcome <> 'failed' and started_at >= ${from}
    order by id`.execute(db)
  const audits = await sql<{ project: ProjectId; at: string; stream: string }>`
    select project_id as project, finished_at as at, stream from sync_audits
    where finished_at >= ${from} order by id`.execute(db)
  // What a reconcile has left of a child stream is pending; a list has to be reconciled to its end.
  const reconciles = runs.rows.flatMap(({ project, at, outcome, streams }) =>
    (JSON.parse(streams) as readonly Pick<StreamReport, 'stream'>[])
      .filter(({ stream }) => outcome !== 'interrupted' || isChildStream(stream))
      .map(({ stream }) => ({ project, at, key: `${stream}/reconcile` })),
  )
  const all = [
    ...reconciles,
    ...audits.rows.map(({ stream, ...audit }) => ({ ...audit, key: `${stream}/audit` })),
  ]
  const byProject = Map.groupBy(all, ({ project }) => project)
  return new Map(
    projects.rows.map(({ project, first, idle }) => {
      const ran = new Map(byProject.get(project)?.map(({ key, at }) => [key, Date.parse(at)]))
      return [
        project,
        { firstAt: Date.parse(first), oldestIdleAt: idle === null ? null : Date.parse(idle), ran },
      ]
    }),
  )
}

/** `counts`: of write-backs by status. */
export async function isCircuitOpen(
  context: ProjectDb,
  counts: Readonly<Record<string, number>>,
  now: EpochMs,
): Promise<boolean> {
  if (!mayBeOpen(counts)) return false
  const outcomes = await createOutbox(context).listRecentOutcomes()
  const { all, batches } = evaluateCircuits(outcomes, now)
  return all !== null || batches.size > 0
}
