/** What the workers of a warehouse tell each other: who lives, which project rests and why, how every stream stands. */
import { sql } from 'kysely'
import type { ChildStream } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import { type EpochMs, moment, rfc3339 } from '../core/time.ts'
import { isAlive, thisProcess } from './database/process.ts'
import type { Db } from './database/session.ts'
import { dueClasses } from './mirror/children.ts'
import { nameOf, silenceMs } from './mirror/lock.ts'
import { forgetIdleRuns } from './mirror/runs.ts'

/** `key`: fingerprint of the key that was denied. */
export type Pause = { readonly until: EpochMs; readonly key: string; readonly why: string }

/** Of one project; whatever has never happened is missing. */
export type Standing = {
  readonly ends: ReadonlyMap<
    StreamName,
    { readonly at: EpochMs | null; readonly failed: boolean; readonly skipped: boolean }
  >
  readonly due: ReadonlyMap<ChildStream, number>
  readonly gaps: number
  readonly writebacks: Readonly<Record<string, number>>
}

export type Fleet = ReturnType<typeof fleetOf>

export function fleetOf(db: Db) {
  return {
    pause: (project: string, pause: Pause | null) => setPause(db, project, pause),
    pauseOf: (project: string) => pauseOf(db, project),
    /** The projects that rest. */
    paused: async (now: EpochMs) => {
      const rows = await db.selectFrom('sync_projects').select('project_id').where('paused_until', '>', now).execute()
      return new Set(rows.map((row) => row.project_id))
    },
    noteLostBudget: async (project: string, why: string, at: EpochMs) => {
      const lost = { budget_lost_at: at, budget_lost_why: why }
      await db
        .insertInto('sync_projects')
        .values({ project_id: project, ...lost })
        .onConflict((conflict) => conflict.column('project_id').doUpdateSet(lost))
        .execute()
    },
    /** Child streams of the project with something due. */
    dueStreams: (project: string, now: EpochMs) => dueStreams(db, project, now),
    allDue: (now: EpochMs) => allDue(db, now),
    /** Nothing of these streams is left to read. One that lacks its scope stays as it is. */
    noteEnd: (project: string, streams: readonly StreamName[], now: EpochMs) => noteEnd(db, project, streams, now),
    /** How each project stands that has ever been read. */
    standings: (now: EpochMs) => standings(db, now),
    ends: () => ends(db),
    workers: (now: EpochMs) => liveWorkers(db, now),
    /** Ids of the projects with write-backs that are not settled, or have yet to follow a cancellation. */
    withWritebacks: async () => {
      const { rows } = await sql<{ project: string }>`
        select distinct project_id as project from writebacks where status in ('queued','sending')
        union select project_id from writeback_cancellations where finished_at is null`.execute(db)
      return new Set(rows.map((row) => row.project))
    },
    /** Write-backs that came by plain SQL and say of no project, so that nobody sends them. */
    countNameless: () => countNameless(db),
    /** A sign of life of this process; `id` is its own. */
    beatWorker: (id: string, queue: string, now: EpochMs) => beatWorker(db, id, queue, now),
    forgetWorker: async (id: string) => {
      await db.deleteFrom('sync_workers').where('id', '=', id).execute()
    },
    forgetIdleRuns: (olderThan: EpochMs) => forgetIdleRuns(db, rfc3339(Math.floor(olderThan / 1000))),
    ping: async () => {
      await sql`select 1`.execute(db)
    },
  }
}

export async function countNameless(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from writebacks where project_id = '' and status in ('draft','queued')`.execute(db)
  return rows[0]?.count ?? 0
}

async function setPause(db: Db, project: string, pause: Pause | null): Promise<void> {
  const state = {
    paused_until: pause?.until ?? null,
    paused_key: pause?.key ?? null,
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

async function pauseOf(db: Db, project: string): Promise<Pause | null> {
  const row = await db.selectFrom('sync_projects').selectAll().where('project_id', '=', project).executeTakeFirst()
  if (row?.paused_until == null) return null
  return { until: row.paused_until, key: row.paused_key ?? '', why: row.paused_why ?? '' }
}

async function dueStreams(db: Db, project: string, now: EpochMs): Promise<ChildStream[]> {
  const found: ChildStream[] = []
  for (const stream of ['messages', 'visitor_activity', 'call_recordings'] as const) {
    const due = (which: string) => sql`exists (select 1 from sync_children where project_id = ${project}
      and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(which)})`
    const { rows } = await sql`select 1 where ${sql.join(Object.values(dueClasses).map(due), sql` or `)}`.execute(db)
    if (rows.length > 0) found.push(stream)
  }
  return found
}

async function allDue(db: Db, now: EpochMs): Promise<Map<string, ChildStream[]>> {
  const found = new Map<string, ChildStream[]>()
  for (const which of Object.values(dueClasses)) {
    const { rows } = await sql<{ project: string; stream: ChildStream }>`
      select distinct project_id as project, stream from sync_children
      where due_at is not null and due_at <= ${now} and ${sql.raw(which)}`.execute(db)
    for (const { project, stream } of rows) {
      const own = found.get(project) ?? []
      if (!own.includes(stream)) found.set(project, [...own, stream])
    }
  }
  return found
}

async function noteEnd(db: Db, project: string, streams: readonly StreamName[], now: EpochMs): Promise<void> {
  if (streams.length === 0) return
  const at = rfc3339(Math.floor(now / 1000))
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

type End = { readonly at: EpochMs | null; readonly failed: boolean; readonly skipped: boolean }

async function ends(db: Db): Promise<Map<string, Map<StreamName, End>>> {
  const rows = await db.selectFrom('sync_streams').selectAll().execute()
  const found = new Map<string, Map<StreamName, End>>()
  for (const { project_id, stream, synced_at, failed, skipped } of rows) {
    const own = found.get(project_id) ?? new Map<StreamName, End>()
    const at = moment(synced_at)
    const end = { at: at === undefined ? null : at * 1000, failed: failed !== null, skipped: skipped !== null }
    found.set(project_id, own.set(stream as StreamName, end))
  }
  return found
}

async function standings(db: Db, now: EpochMs): Promise<Map<string, Standing>> {
  const due = new Map<string, Map<ChildStream, number>>()
  for (const which of Object.values(dueClasses)) {
    const { rows } = await sql<{ project: string; stream: ChildStream; count: number }>`
      select project_id as project, stream, count(*) as count from sync_children
      where due_at is not null and due_at <= ${now} and ${sql.raw(which)} group by project_id, stream`.execute(db)
    for (const { project, stream, count } of rows) {
      const own = due.get(project) ?? new Map<ChildStream, number>()
      due.set(project, own.set(stream, (own.get(stream) ?? 0) + count))
    }
  }
  const gaps = await sql<{ project: string; count: number }>`
    select project_id as project, count(*) as count from sync_gaps where resolved_at is null group by project_id`.execute(
    db,
  )
  const queue = await sql<{ project: string; status: string; count: number }>`
    select project_id as project, status, count(*) as count from writebacks group by project_id, status`.execute(db)
  const writebacks = Map.groupBy(queue.rows, ({ project }) => project)
  const ended = await ends(db)
  const projects = new Set([...ended.keys(), ...due.keys(), ...writebacks.keys()])
  return new Map(
    [...projects].map((project) => [
      project,
      {
        ends: ended.get(project) ?? new Map(),
        due: due.get(project) ?? new Map(),
        gaps: gaps.rows.find((row) => row.project === project)?.count ?? 0,
        writebacks: Object.fromEntries((writebacks.get(project) ?? []).map(({ status, count }) => [status, count])),
      },
    ]),
  )
}

/** Rows of workers that fell silent go with somebody else's beat. */
async function beatWorker(db: Db, id: string, queue: string, now: EpochMs): Promise<void> {
  await db
    .insertInto('sync_workers')
    .values({ id, ...thisProcess(), queue, since: rfc3339(Math.floor(now / 1000)), beat_at: now })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: now }))
    .execute()
  await db
    .deleteFrom('sync_workers')
    .where('beat_at', '<', now - 10 * silenceMs)
    .execute()
}

/** The workers that live, oldest first. */
export async function liveWorkers(db: Db, now: EpochMs) {
  const rows = await db.selectFrom('sync_workers').selectAll().orderBy('since').execute()
  const alive = rows.filter((row) => isAlive(row, thisProcess()) ?? now - row.beat_at < 2 * silenceMs)
  return alive.map((row) => ({
    holder: nameOf(row),
    queue: row.queue,
    since: row.since,
    heardAt: rfc3339(Math.floor(row.beat_at / 1000)),
  }))
}

/** What befell the project: whether it rests, and when the record of its budget was last lost. */
export async function troubleOf(db: Db, project: string, now: EpochMs) {
  const row = await db.selectFrom('sync_projects').selectAll().where('project_id', '=', project).executeTakeFirst()
  const at = (ms: number) => rfc3339(Math.floor(ms / 1000))
  const until = row?.paused_until ?? 0
  const lostAt = row?.budget_lost_at ?? null
  return {
    paused: until > now ? { until: at(until), why: row?.paused_why ?? '' } : null,
    lost: lostAt === null ? null : { at: at(lostAt), why: row?.budget_lost_why ?? '' },
  }
}
