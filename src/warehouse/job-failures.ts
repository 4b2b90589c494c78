/** Failing jobs of the workers: one row per job, from its first failure until it succeeds. */
import { type JobFailure, parseJobKind } from '../core/job-failure.ts'
import { type EpochMs, parseTime, toTimestamp } from '../core/time.ts'
import type { Db } from './database/connection-pool.ts'

export type JobFailureRepository = ReturnType<typeof createJobFailures>

export function createJobFailures(db: Db) {
  return {
    record: (failure: JobFailure) => recordFailure(db, failure),
    clear: async ({ projectId, job, subject }: Pick<JobFailure, 'projectId' | 'job' | 'subject'>) => {
      await db
        .deleteFrom('sync_failures')
        .where((eb) => eb.and({ project_id: projectId, job, subject }))
        .execute()
    },
    list: () => listFailures(db),
  }
}

/** Characters of a reason that are stored. */
const maxReasonLength = 2000

/** Another worker may have recorded an earlier failure: its `since` stays. */
async function recordFailure(
  db: Db,
  { projectId, job, subject, since, lastAt, failures, reason }: JobFailure,
): Promise<void> {
  const latest = { last_at: toTimestamp(lastAt), failures, reason: reason.slice(0, maxReasonLength) }
  await db
    .insertInto('sync_failures')
    .values({ project_id: projectId, job, subject, since: toTimestamp(since), ...latest })
    .onConflict((conflict) => conflict.columns(['project_id', 'job', 'subject']).doUpdateSet(latest))
    .execute()
}

/** Longest failing first. `project`: only its own failures and those that concern all projects. */
export async function listFailures(db: Db, project?: string): Promise<JobFailure[]> {
  const all = db.selectFrom('sync_failures').selectAll()
  const selected = project === undefined ? all : all.where('project_id', 'in', [project, ''])
  const rows = await selected.orderBy('since').orderBy('project_id').orderBy('job').orderBy('subject').execute()
  return rows.flatMap((row) => {
    const job = parseJobKind(row.job)
    // A newer version recorded it.
    if (job === null) return []
    const { project_id: projectId, subject, failures, reason } = row
    return [{ projectId, job, subject, failures, reason, since: toEpochMs(row.since), lastAt: toEpochMs(row.last_at) }]
  })
}

function toEpochMs(at: string): EpochMs {
  return (parseTime(at) ?? 0) * 1000
}
