/** What workers record: their heartbeats and their failing jobs. */
import { sql } from 'kysely'
import type { BackendKind } from '../../config/queue-backends.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import {
  currentProcess,
  heartbeatTimeoutMs,
  isHolderAlive,
  processLabel,
} from '../../warehouse/process-identity.ts'
import { isJobKind, type JobFailure } from '../core/job-failure.ts'

/** `id`: of this worker. Also deletes stale rows. */
export async function recordWorkerHeartbeat(
  db: Db,
  worker: { readonly id: string; readonly queue: BackendKind; readonly configuration: string },
  now: EpochMs,
): Promise<void> {
  const { id, queue, configuration } = worker
  await db
    .insertInto('sync_workers')
    .values({
      id,
      ...currentProcess(),
      queue,
      since: toTimestamp(now),
      beat_at: now,
      configuration,
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: now, configuration }))
    .execute()
  await sql`delete from sync_workers where beat_at < ${now - 10 * heartbeatTimeoutMs}`.execute(db)
}

export async function removeWorker(db: Db, id: string): Promise<void> {
  await sql`delete from sync_workers where id = ${id}`.execute(db)
}

/** Whether the live workers have different projects or schedules. */
export async function doWorkersDiffer(db: Db, now: EpochMs): Promise<boolean> {
  return new Set((await readLiveRows(db, now)).map(({ configuration }) => configuration)).size > 1
}

/** The workers that are alive, oldest first. */
export async function listLiveWorkers(db: Db, now: EpochMs) {
  return (await readLiveRows(db, now)).map(({ queue, since, beat_at, ...process }) => {
    return { holder: processLabel(process), queue, since, heardAt: toTimestamp(beat_at) }
  })
}

async function readLiveRows(db: Db, now: EpochMs) {
  const rows = await db.selectFrom('sync_workers').selectAll().orderBy('since').execute()
  return rows.filter((row) => isHolderAlive(row, currentProcess(), now, 2 * heartbeatTimeoutMs))
}

/** What keeps the jobs of this installation apart from those of others in the same queue. */
export async function readInstallationId(db: Db): Promise<string> {
  return (await db.selectFrom('sync_installation').select('id').executeTakeFirstOrThrow()).id
}

/** Characters of a reason that are stored. */
const maxReasonLength = 2000

/** Another worker may have recorded an earlier failure: its `since` stays. */
export async function recordJobFailure(db: Db, failure: JobFailure): Promise<void> {
  const { projectId, job, key, since, lastAt, failures, reason } = failure
  const latest = {
    last_at: toTimestamp(lastAt),
    failures,
    reason: reason.slice(0, maxReasonLength),
  }
  await db
    .insertInto('sync_failures')
    .values({ project_id: projectId, job, subject: key, since: toTimestamp(since), ...latest })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'job', 'subject']).doUpdateSet(latest),
    )
    .execute()
}

export async function clearJobFailure(
  db: Db,
  { projectId, job, key }: Pick<JobFailure, 'projectId' | 'job' | 'key'>,
) {
  await sql`
    delete from sync_failures where project_id = ${projectId} and job = ${job}
    and subject = ${key}`.execute(db)
}

/** Longest failing first. `project`: only its own failures and those that concern all projects. */
export async function listFailures(db: Db, project?: ProjectId): Promise<JobFailure[]> {
  const { rows } = await sql<
    Omit<JobFailure, 'job' | 'since' | 'lastAt'> & Record<'job' | 'since' | 'lastAt', string>
  >`
    select project_id as "projectId", job, subject as key, since, last_at as "lastAt", failures,
    reason
    from sync_failures ${project === undefined ? sql`` : sql`where project_id in (${project}, '')`}
    order by since, project_id, job, subject`.execute(db)
  return rows.flatMap(({ job, since, lastAt, ...failure }) =>
    // Otherwise a newer version recorded it.
    isJobKind(job)
      ? [{ ...failure, job, since: Date.parse(since), lastAt: Date.parse(lastAt) }]
      : [],
  )
}
