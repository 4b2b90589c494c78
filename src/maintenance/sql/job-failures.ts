/** Failing jobs of the workers: one row per job, from its first failure until it succeeds. */
import { sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, parseTime, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { type JobFailure, parseJobKind } from '../core/job-failure.ts'

/** Characters of a reason that are stored. */
const maxReasonLength = 2000

export type JobFailureRepository = ReturnType<typeof createJobFailures>

export function createJobFailures(db: Db) {
  return {
    /** Another worker may have recorded an earlier failure: its `since` stays. */
    record: async ({ projectId, job, key, since, lastAt, failures, reason }: JobFailure): Promise<void> => {
      const latest = { last_at: toTimestamp(lastAt), failures, reason: reason.slice(0, maxReasonLength) }
      await db
        .insertInto('sync_failures')
        .values({ project_id: projectId, job, subject: key, since: toTimestamp(since), ...latest })
        .onConflict((conflict) => conflict.columns(['project_id', 'job', 'subject']).doUpdateSet(latest))
        .execute()
    },
    clear: async ({ projectId, job, key }: Pick<JobFailure, 'projectId' | 'job' | 'key'>) => {
      await sql`
        delete from sync_failures
        where project_id = ${projectId} and job = ${job} and subject = ${key}`.execute(db)
    },
    list: () => listFailures(db),
  }
}

/** Longest failing first. `project`: only its own failures and those that concern all projects. */
export async function listFailures(db: Db, project?: ProjectId): Promise<JobFailure[]> {
  const all = db.selectFrom('sync_failures').selectAll()
  const selected = project === undefined ? all : all.where('project_id', 'in', [project, ''])
  const rows = await selected.orderBy('since').orderBy('project_id').orderBy('job').orderBy('subject').execute()
  return rows.flatMap((row) => {
    const job = parseJobKind(row.job)
    // A newer version recorded it.
    if (job === null) return []
    const { project_id: projectId, subject: key, failures, reason } = row
    return [{ projectId, job, key, failures, reason, since: toEpochMs(row.since), lastAt: toEpochMs(row.last_at) }]
  })
}

function toEpochMs(at: string): EpochMs {
  return (parseTime(at) ?? 0) * 1000
}
