/** The status report of a project, read from the warehouse alone. */
import { sql } from 'kysely'
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import { countPendingConversations } from '../../analytics/sql/facts-state.ts'
import type { GapReport } from '../../mirror/mirror.ts'
import { readAuditEstimates, readMirrorState } from '../../mirror/sql/mirror-state.ts'
import { effectiveStatus } from '../../outbox/sql/row.ts'
import { estimateRequestsMs, steadyLimits } from '../../service/core/estimate.ts'
import { type BudgetPolicy, decodeMargins } from '../../service/core/margin.ts'
import { countRecentRequests } from '../../service/sql/request-counts.ts'
import type { ProjectId } from '../../values/project.ts'
import { toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { failedStream } from '../core/job-failure.ts'
import type { StatusReport } from '../core/reports.ts'

import { countWithoutProject, readProjectIncidents } from './projects.ts'
import { listFailures, listLiveWorkers } from './workers.ts'

/** Gaps in the report; `sync_gaps` has the rest. */
const maxGaps = 1000

/** `selected`: the streams that the project mirrors. Pending children of other streams do not count. */
export async function readStatus(
  context: ProjectDb,
  now: number,
  policy: BudgetPolicy,
  selected: readonly StreamName[] = streamNames,
): Promise<Omit<StatusReport, 'project'>> {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const results = await db.selectFrom('sync_streams').selectAll().where('project_id', '=', project).execute()
  const { streams: mirrored, clockOffset, running } = await readMirrorState(context, selected, now)
  const streams = mirrored.map(({ stream, unreadable, ahead, due, ...counted }) => {
    const row = results.find((result) => result.stream === stream)
    const { synced_at: syncedAt = null, skipped = null, failed = null, failed_since = null } = row ?? {}
    // An error that ended a worker's sync job is recorded in `sync_failures`, as the run could not record it.
    const jobFailure = failures.find((failure) => failedStream(failure) === stream)
    const failedSince = jobFailure === undefined ? failed_since : toTimestamp(jobFailure.since)
    const why = failed ?? jobFailure?.reason ?? unreadable
    return { stream, ...counted, syncedAt, skipped, failed: why, failedSince, ahead, due }
  })
  const due = streams.reduce((total, { due }) => total + due, 0)
  const behaviours = await readBehaviours(db, project)
  const limits = steadyLimits(policy, decodeMargins(new Map(behaviours.map(({ name, value }) => [name, value]))))
  const { rate } = policy
  const { paused, held, lost } = await readProjectIncidents(db, project, now)
  return {
    streams,
    failures: failures.map(({ key: subject, since, lastAt, job, failures, reason }) => ({
      ...{ job, subject, since: toTimestamp(since), lastAt: toTimestamp(lastAt), failures, reason },
    })),
    lastRun: await readLastRun(db, project),
    clockOffset,
    running,
    workers: await listLiveWorkers(db, now),
    paused,
    held,
    gaps: await listGaps(db, project),
    facts: await countPendingConversations(context),
    audits: await readAuditEstimates(context, now),
    writebacks: await countWritebacks(context),
    nameless: await countWithoutProject(db),
    heldLanes: await countBlockedLanes(db, project),
    behaviours,
    budget: {
      usedInWindow: await countRecentRequests(db, project, rate.windowMs, now),
      limit: rate.requests,
      windowMs: rate.windowMs,
      forecastMs: estimateRequestsMs(limits, due),
      lost,
    },
  }
}

async function readLastRun(db: Db, project: ProjectId): Promise<StatusReport['lastRun']> {
  const { rows } = await sql<NonNullable<StatusReport['lastRun']>>`
    select id, mode, started_at as "startedAt", finished_at as "finishedAt", outcome, requests from sync_runs
    where project_id = ${project} order by id desc limit 1`.execute(db)
  return rows[0] ?? null
}

/** The open gaps, oldest first, up to `maxGaps`. */
export async function listGaps(db: Db, project: ProjectId): Promise<readonly GapReport[]> {
  const { rows } = await sql<GapReport>`
    select stream, from_ts as "from", to_ts as "to", reason, found_at as "foundAt" from sync_gaps
    where project_id = ${project} and resolved_at is null order by id limit ${maxGaps}`.execute(db)
  return rows
}

/** By status; what is cancelled counts as such at once. */
export async function countWritebacks(context: ProjectDb): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select ${await effectiveStatus(context)} as status, count(*) as count from writebacks
    where project_id = ${context.project} group by 1 order by 1`.execute(context.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Lanes that wait until a person resolves an uncertain write-back. */
export async function countBlockedLanes(db: Db, project: ProjectId): Promise<number> {
  const { rows } = await sql<{ lanes: number }>`
    select count(distinct lane) as lanes from writebacks
    where project_id = ${project} and status = 'uncertain'`.execute(db)
  return rows[0]?.lanes ?? 0
}

/** What was learned about the service. */
export async function readBehaviours(db: Db, project: ProjectId): Promise<StatusReport['behaviours']> {
  const { rows } = await sql<StatusReport['behaviours'][number]>`
    select name, value, evidence, learned_at as "learnedAt" from service_behaviours
    where project_id = ${project} order by name`.execute(db)
  return rows
}
