/** What the workers of a warehouse tell each other: who lives, which project rests and why, how every stream stands. */
import { sql } from 'kysely'
import type { ChildStreamName } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import { type EpochMs, parseTime, toTimestamp } from '../core/time.ts'
import { isProcessAlive, currentProcess } from './database/process-identity.ts'
import type { Db } from './database/connection-pool.ts'
import { pendingConditions } from './mirror/pending-children.ts'
import { processLabel, heartbeatTimeoutMs } from './mirror/stream-locks.ts'
import { deleteIdleRuns } from './mirror/sync-runs.ts'

/** `key`: fingerprint of the key that was denied. */
export type ProjectPause = { readonly until: EpochMs; readonly keyFingerprint: string; readonly why: string }

/** Of one project; whatever has never happened is missing. */
export type ProjectSyncState = {
  readonly streams: ReadonlyMap<
    StreamName,
    { readonly at: EpochMs | null; readonly failed: boolean; readonly skipped: boolean }
  >
  readonly pendingChildren: ReadonlyMap<ChildStreamName, number>
  readonly gaps: number
  readonly writebacks: Readonly<Record<string, number>>
}

export type WorkerStateRepository = ReturnType<typeof createWorkerState>

export function createWorkerState(db: Db) {
  return {
    setPause: (project: string, pause: ProjectPause | null) => setPause(db, project, pause),
    readPause: (project: string) => readPause(db, project),
    /** The projects that rest. */
    pausedProjects: async (now: EpochMs) => {
      const rows = await db.selectFrom('sync_projects').select('project_id').where('paused_until', '>', now).execute()
      return new Set(rows.map((row) => row.project_id))
    },
    recordBudgetLoss: async (project: string, why: string, at: EpochMs) => {
      const lost = { budget_lost_at: at, budget_lost_why: why }
      await db
        .insertInto('sync_projects')
        .values({ project_id: project, ...lost })
        .onConflict((conflict) => conflict.column('project_id').doUpdateSet(lost))
        .execute()
    },
    /** Child streams of the project with something due. */
    pendingChildStreams: (project: string, now: EpochMs) => pendingChildStreams(db, project, now),
    allPendingChildStreams: (now: EpochMs) => allPendingChildStreams(db, now),
    /** Nothing of these streams is left to read. One that lacks its scope stays as it is. */
    markStreamsSynced: (project: string, streams: readonly StreamName[], now: EpochMs) => markStreamsSynced(db, project, streams, now),
    /** How each project stands that has ever been read. */
    projectStates: (now: EpochMs) => readProjectStates(db, now),
    streamStates: () => readStreamStates(db),
    liveWorkers: (now: EpochMs) => liveWorkers(db, now),
    /** Ids of the projects with write-backs that are not settled, or have yet to follow a cancellation. */
    projectsWithWritebacks: async () => {
      const { rows } = await sql<{ project: string }>`
        select distinct project_id as project from writebacks where status in ('queued','sending')
        union select project_id from writeback_cancellations where finished_at is null`.execute(db)
      return new Set(rows.map((row) => row.project))
    },
    /** Write-backs that came by plain SQL and say of no project, so that nobody sends them. */
    countWithoutProject: () => countWithoutProject(db),
    /** A sign of life of this process; `id` is its own. */
    recordHeartbeat: (id: string, queue: string, now: EpochMs) => recordWorkerHeartbeat(db, id, queue, now),
    removeWorker: async (id: string) => {
      await db.deleteFrom('sync_workers').where('id', '=', id).execute()
    },
    deleteIdleRuns: (olderThan: EpochMs) => deleteIdleRuns(db, toTimestamp(olderThan)),
    ping: async () => {
      await sql`select 1`.execute(db)
    },
  }
}

export async function countWithoutProject(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from writebacks where project_id = '' and status in ('draft','queued')`.execute(db)
  return rows[0]?.count ?? 0
}

async function setPause(db: Db, project: string, pause: ProjectPause | null): Promise<void> {
  const state = {
    paused_until: pause?.until ?? null,
    paused_key: pause?.keyFingerprint ?? null,
    paused_why: pause?.why ?? null,
  }
  if (pause === null) {
    await db.updateTable('sync_projects').set(state).where('project_id', '=', project).execute()
    return
  }
  await db
    .insertInto('sync_projects')
    .values({ project_id: project, budget_lost_at: null, budget_lost_why: null, ...state })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(state))
    .execute()
}

async function readPause(db: Db, project: string): Promise<ProjectPause | null> {
  const row = await db.selectFrom('sync_projects').selectAll().where('project_id', '=', project).executeTakeFirst()
  if (row?.paused_until == null) return null
  return { until: row.paused_until, keyFingerprint: row.paused_key ?? '', why: row.paused_why ?? '' }
}

async function pendingChildStreams(db: Db, project: string, now: EpochMs): Promise<ChildStreamName[]> {
  const found: ChildStreamName[] = []
  for (const stream of ['messages', 'visitor_activity', 'call_recordings'] as const) {
    const isPending = (condition: string) => sql`exists (select 1 from sync_children where project_id = ${project}
      and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(condition)})`
    const { rows } = await sql`select 1 where ${sql.join(Object.values(pendingConditions).map(isPending), sql` or `)}`.execute(db)
    if (rows.length > 0) found.push(stream)
  }
  return found
}

async function allPendingChildStreams(db: Db, now: EpochMs): Promise<Map<string, ChildStreamName[]>> {
  const found = new Map<string, ChildStreamName[]>()
  for (const condition of Object.values(pendingConditions)) {
    const { rows } = await sql<{ project: string; stream: ChildStreamName }>`
      select distinct project_id as project, stream from sync_children
      where due_at is not null and due_at <= ${now} and ${sql.raw(condition)}`.execute(db)
    for (const { project, stream } of rows) {
      const streamsOfProject = found.get(project) ?? []
      if (!streamsOfProject.includes(stream)) found.set(project, [...streamsOfProject, stream])
    }
  }
  return found
}

async function markStreamsSynced(db: Db, project: string, streams: readonly StreamName[], now: EpochMs): Promise<void> {
  if (streams.length === 0) return
  const at = toTimestamp(now)
  await db
    .insertInto('sync_streams')
    .values(
      streams.map((stream) => ({
        project_id: project,
        stream,
        synced_at: at,
        skipped: null,
        failed: null,
        failed_since: null,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'stream'])
        .doUpdateSet({ synced_at: at, failed: null, failed_since: null })
        .where('sync_streams.skipped', 'is', null),
    )
    .execute()
}

type StreamSyncState = { readonly at: EpochMs | null; readonly failed: boolean; readonly skipped: boolean }

async function readStreamStates(db: Db): Promise<Map<string, Map<StreamName, StreamSyncState>>> {
  const rows = await db.selectFrom('sync_streams').selectAll().execute()
  const found = new Map<string, Map<StreamName, StreamSyncState>>()
  for (const { project_id, stream, synced_at, failed, skipped } of rows) {
    const ofProject = found.get(project_id) ?? new Map<StreamName, StreamSyncState>()
    const at = parseTime(synced_at)
    const state = { at: at === undefined ? null : at * 1000, failed: failed !== null, skipped: skipped !== null }
    found.set(project_id, ofProject.set(stream as StreamName, state))
  }
  return found
}

async function readProjectStates(db: Db, now: EpochMs): Promise<Map<string, ProjectSyncState>> {
  const pending = new Map<string, Map<ChildStreamName, number>>()
  for (const condition of Object.values(pendingConditions)) {
    const { rows } = await sql<{ project: string; stream: ChildStreamName; count: number }>`
      select project_id as project, stream, count(*) as count from sync_children
      where due_at is not null and due_at <= ${now} and ${sql.raw(condition)} group by project_id, stream`.execute(db)
    for (const { project, stream, count } of rows) {
      const ofProject = pending.get(project) ?? new Map<ChildStreamName, number>()
      pending.set(project, ofProject.set(stream, (ofProject.get(stream) ?? 0) + count))
    }
  }
  const gaps = await sql<{ project: string; count: number }>`
    select project_id as project, count(*) as count from sync_gaps where resolved_at is null group by project_id`.execute(
    db,
  )
  const queue = await sql<{ project: string; status: string; count: number }>`
    select project_id as project, status, count(*) as count from writebacks group by project_id, status`.execute(db)
  const writebacks = Map.groupBy(queue.rows, ({ project }) => project)
  const streamStates = await readStreamStates(db)
  const projects = new Set([...streamStates.keys(), ...pending.keys(), ...writebacks.keys()])
  return new Map(
    [...projects].map((project) => [
      project,
      {
        streams: streamStates.get(project) ?? new Map(),
        pendingChildren: pending.get(project) ?? new Map(),
        gaps: gaps.rows.find((row) => row.project === project)?.count ?? 0,
        writebacks: Object.fromEntries((writebacks.get(project) ?? []).map(({ status, count }) => [status, count])),
      },
    ]),
  )
}

/** Rows of workers that fell silent go with somebody else's beat. */
async function recordWorkerHeartbeat(db: Db, id: string, queue: string, now: EpochMs): Promise<void> {
  await db
    .insertInto('sync_workers')
    .values({ id, ...currentProcess(), queue, since: toTimestamp(now), beat_at: now })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: now }))
    .execute()
  await db
    .deleteFrom('sync_workers')
    .where('beat_at', '<', now - 10 * heartbeatTimeoutMs)
    .execute()
}

/** The workers that live, oldest first. */
export async function liveWorkers(db: Db, now: EpochMs) {
  const rows = await db.selectFrom('sync_workers').selectAll().orderBy('since').execute()
  const alive = rows.filter((row) => isProcessAlive(row, currentProcess()) ?? now - row.beat_at < 2 * heartbeatTimeoutMs)
  return alive.map((row) => ({
    holder: processLabel(row),
    queue: row.queue,
    since: row.since,
    heardAt: toTimestamp(row.beat_at),
  }))
}

/** What befell the project: whether it rests, and when the record of its budget was last lost. */
export async function readProjectIncidents(db: Db, project: string, now: EpochMs) {
  const row = await db.selectFrom('sync_projects').selectAll().where('project_id', '=', project).executeTakeFirst()
  const at = (ms: number) => toTimestamp(ms)
  const until = row?.paused_until ?? 0
  const lostAt = row?.budget_lost_at ?? null
  return {
    paused: until > now ? { until: at(until), why: row?.paused_why ?? '' } : null,
    lost: lostAt === null ? null : { at: at(lostAt), why: row?.budget_lost_why ?? '' },
  }
}
