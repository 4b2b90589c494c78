/** The status report of a project, read from the warehouse alone. Its times are RFC 3339 text. */
import { sql } from 'kysely'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import { countPendingConversations } from '../../analytics/sql/facts-state.ts'
import type { AuditEstimate, GapReport, SyncMode, SyncOutcome } from '../../mirror/mirror.ts'
import { readAuditEstimates, readMirrorState } from '../../mirror/sql/mirror-state.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { estimateMs, steadyLimits } from '../../service/core/budget.ts'
import type { BudgetPolicy } from '../../service/core/budget-policy.ts'
import { countRecentRequests, readOpenPause } from '../../service/sql/request-counts.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import { type Ms, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { countRowsOf } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { failedStream, type JobKind } from '../core/job-failure.ts'
import { listUnfinishedErasures } from './erase.ts'
import { listAnnounced } from './notifications.ts'
import { readProjectIncidents } from './projects.ts'
import { listFailures, listLiveWorkers } from './workers.ts'

const maxGaps = 1000

/** `selected`: the streams that the project mirrors. */
export async function readStatus(
  context: ProjectDb,
  now: number,
  policy: BudgetPolicy,
  selected: readonly StreamName[] = streamNames,
): Promise<Omit<StatusReport, 'project'>> {
  const { db, project } = context
  const { lastSyncOf, lost, ...state } = await readProjectState(context, now)
  const { streams: mirrored, clockOffset, running } = await readMirrorState(context, selected, now)
  const streams = mirrored.map(({ stream, unreadable, ahead, due, ...counted }) => {
    const { failed, ...lastSync } = lastSyncOf(stream)
    return { stream, ...counted, ...lastSync, failed: failed ?? unreadable, ahead, due }
  })
  const due = streams.reduce((total, { due }) => total + due, 0)
  const { rate } = policy
  const pausedUntil = await readOpenPause(db, project, now)
  const pauseMs = due === 0 || pausedUntil === null ? 0 : pausedUntil - now
  return {
    streams,
    ...state,
    lastRun: await readLastRun(db, project),
    clockOffset,
    running,
    ...(await readGaps(db, project)),
    facts: await countPendingConversations(context),
    unfinishedErasures: await listUnfinishedErasures(context),
    withoutProject: await createOutbox(context).countWithoutProject(),
    behaviours: await readBehaviours(db, project),
    notifications: await listNotified(context),
    budget: {
      usedInWindow: await countRecentRequests(db, project, rate.windowMs, now),
      limit: rate.requests,
      windowMs: rate.windowMs,
      forecastMs: estimateMs(steadyLimits(policy).all, due) + pauseMs,
      pausedUntil: pausedUntil === null ? null : toTimestamp(pausedUntil),
      lost,
    },
  }
}

/** What a page asks for again and again: nothing takes longer for a million rows. */
export async function readProjectState(context: ProjectDb, now: number) {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const results = await db
    .selectFrom('sync_streams')
    .selectAll()
    .where('project_id', '=', project)
    .execute()
  return {
    lastSyncOf: (stream: StreamName) => {
      const row = results.find((result) => result.stream === stream)
      const {
        synced_at: syncedAt = null,
        skipped = null,
        failed = null,
        failed_since = null,
      } = row ?? {}
      // A run could not record an error that ended its job.
      const jobFailure = failures.find((failure) => failedStream(failure) === stream)
      const failedSince = jobFailure === undefined ? failed_since : toTimestamp(jobFailure.since)
      return { syncedAt, skipped, failed: failed ?? jobFailure?.reason ?? null, failedSince }
    },
    failures: failures.map(({ key: subject, since, lastAt, job, failures, reason }) => ({
      job,
      subject,
      since: toTimestamp(since),
      lastAt: toTimestamp(lastAt),
      failures,
      reason,
    })),
    workers: await listLiveWorkers(db, now),
    ...(await readProjectIncidents(db, project, now)),
    audits: await readAuditEstimates(context, now),
    writebacks: await createOutbox(context).countByStatus({}),
    blockedLanes: await countRowsOf(
      db,
      sql`(select distinct lane from writebacks
        where project_id = ${project} and status = 'uncertain') as found`,
    ),
  }
}

async function readLastRun(db: Db, project: ProjectId): Promise<StatusReport['lastRun']> {
  const { rows } = await sql<NonNullable<StatusReport['lastRun']>>`
    select id, mode, started_at as "startedAt", finished_at as "finishedAt", outcome, requests
    from sync_runs
    where project_id = ${project} order by id desc limit 1`.execute(db)
  return rows[0] ?? null
}

/** The first open gaps, and the number of all. */
export async function readGaps(db: Db, project: ProjectId) {
  const open = sql`sync_gaps where project_id = ${project} and resolved_at is null`
  const { rows: gaps } = await sql<GapReport>`
    select stream, from_ts as "from", to_ts as "to", reason, found_at as "foundAt" from ${open}
    order by id limit ${maxGaps}`.execute(db)
  return { gaps, openGaps: await countRowsOf(db, open) }
}

/** What was announced and still holds, the latest first. */
export async function listNotified(context: ProjectDb): Promise<StatusReport['notifications']> {
  const announced = (await listAnnounced(context)).filter(
    ({ level, announcedAt }) => level > 0 && announcedAt > 0,
  )
  const latest = Map.groupBy(announced, ({ event }) => event)
  return [...latest].map(([event, [first]]) => {
    return { event, announcedAt: toTimestamp(first?.announcedAt ?? 0) }
  })
}

export async function readBehaviours(
  db: Db,
  project: ProjectId,
): Promise<StatusReport['behaviours']> {
  const { rows } = await sql<StatusReport['behaviours'][number]>`
    select name, value, evidence, learned_at as "learnedAt" from service_behaviours
    where project_id = ${project} order by name`.execute(db)
  return rows
}

/** `status`, one project. Reads only the warehouse. */
export type StatusReport = {
  readonly project: ProjectName
  readonly streams: readonly {
    readonly stream: StreamName
    readonly rows: number
    readonly deleted: number
    /** When the rows were counted, if not now. */
    readonly countedAt: string | null
    /** When the stream was last read completely; null = never. */
    readonly syncedAt: string | null
    /** The newest time in a mirrored row. */
    readonly newest: string | null
    /** Rows dated ahead of the clocks, counted to 10,000. */
    readonly ahead: number
    /** Parents whose children are still to be read. */
    readonly due: number
    readonly skipped: string | null
    readonly failed: string | null
    /** The first of the consecutive failures; null = it does not fail. */
    readonly failedSince: string | null
  }[]
  /** Other failing jobs of the workers, of this project and of all projects. */
  readonly failures: readonly {
    readonly job: JobKind
    /** The stream and mode of a sync, the lane of write-backs, or the schedule; else empty. */
    readonly subject: string
    readonly since: string
    readonly lastAt: string
    readonly failures: number
    readonly reason: string
  }[]
  readonly lastRun: {
    readonly id: string
    readonly mode: SyncMode
    readonly startedAt: string
    readonly finishedAt: string | null
    readonly outcome: SyncOutcome | null
    readonly requests: number
  } | null
  /** Seconds by which the service's clock is ahead; null = unknown. */
  readonly clockOffset: number | null
  /** The process that is syncing now, if any. */
  readonly running: { readonly holder: string; readonly since: string } | null
  /** Running workers. `queue`: redis or embedded. `heardAt`: the last heartbeat. */
  readonly workers: readonly {
    readonly holder: string
    readonly queue: string
    readonly since: string
    readonly heardAt: string
  }[]
  /** The worker sends nothing for this project until then because the service denied its key. */
  readonly paused: { readonly until: string; readonly why: string } | null
  /** Where it has moved, or from where it is still arriving; null: it is here. */
  readonly moved: string | null
  /**
   * Nothing is sent because the warehouse went back in time, until a person has decided.
   * `resumeBy`: the option of `writeback resume` that ends this.
   */
  readonly held: { readonly since: string; readonly why: string; readonly resumeBy: string } | null
  /** The first thousand of them. */
  readonly gaps: readonly GapReport[]
  readonly openGaps: number
  readonly facts: {
    /** Whose facts for analysts are still to be derived. */
    readonly conversations: number
    /** All facts are being derived anew, because the settings or the definitions changed. */
    readonly isRebuild: boolean
  }
  /** Visitors whose erasure was killed before its end, and has to be repeated; `''`: the project. */
  readonly unfinishedErasures: readonly string[]
  /** What the audits of the last 30 days show, by stream. */
  readonly audits: readonly AuditEstimate[]
  readonly writebacks: Readonly<Record<string, number>>
  /** Write-backs without a project, which were inserted by plain SQL. */
  readonly withoutProject: number
  /** Lanes that wait until a person resolves an uncertain write-back. */
  readonly blockedLanes: number
  readonly behaviours: readonly (ServiceBehaviour & { readonly learnedAt: string })[]
  /** What people were notified of and still holds, and when it was last announced. */
  readonly notifications: readonly { readonly event: string; readonly announcedAt: string }[]
  /** Requests of all processes in the last window, and how long the pending work takes. */
  readonly budget: {
    readonly usedInWindow: number
    readonly limit: number
    readonly windowMs: Ms
    readonly forecastMs: Ms
    /** RFC 3339: the service asked to wait (429), which `forecastMs` includes; null = not. */
    readonly pausedUntil: string | null
    /** When the record of requests was last lost: nothing was sent for one window. */
    readonly lost: { readonly at: string; readonly why: string } | null
  }
}
