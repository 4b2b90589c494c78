/** How the mirror of a project stands, read from the warehouse alone. */
import { type RawBuilder, sql } from 'kysely'
import type { Rate } from '../core/budget/rate.ts'
import { tolerated } from '../core/horizon.ts'
import { type JobFailure, streamOf } from '../core/job-failure.ts'
import { childStreams, clockNote } from '../core/mirror.ts'
import type { FailureReport, GapReport, StatusReport } from '../core/report.ts'
import { type StreamName, streamNames } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import type { Db } from './database/session.ts'
import { WarehouseError } from './database/trouble.ts'
import { allFailures } from './failures.ts'
import { countNameless, liveWorkers, troubleOf } from './fleet.ts'
import { countAhead } from './mirror/ahead.ts'
import { dueClasses } from './mirror/children.ts'
import { readCursor } from './mirror/knowledge.ts'
import { lockHolder } from './mirror/lock.ts'
import { recentRequests } from './mirror/runs.ts'
import { tableOf } from './mirror/stream-tables.ts'
import { statusNow } from './outbox/cancellations.ts'
import { countRequests } from './requests.ts'

/** Where a stream's rows say what moment they speak of; null = nowhere but in undocumented fields. */
const momentOf: Readonly<Record<StreamName, string | null>> = {
  conversations: 'last_message_at',
  messages: 'created_at',
  visitors: null,
  visitor_activity: 'occurred_at',
  calls: 'occurred_at',
  call_recordings: 'checked_at',
  analytics: 'window_from',
  availability: 'taken_at',
}

/** More gaps than a person reads are counted in `sync_gaps`. */
const mostGaps = 1000

/** More rows dated ahead than that are not counted. */
const mostAhead = 10_000

/** `selected`: the streams that the project mirrors; what others would still have to read is not due. */
export async function readStatus(
  db: Db,
  project: string,
  now: number,
  rate: Rate,
  selected: readonly StreamName[] = streamNames,
): Promise<StatusReport> {
  const failures = await allFailures(db, project)
  const standing = await readStreams(db, project, failures)
  const clockOffset = await readClock(db, project)
  const horizon = Math.floor(now / 1000) + Math.min(0, clockOffset ?? 0) + tolerated
  const streams = []
  for (const stream of streamNames) {
    const { unreadable, ...counted } = await countRows(db, project, stream).catch(cannotRead)
    const due = selected.includes(stream) ? await countAllDue(db, project, stream, now) : 0
    const stands = standing(stream)
    const ahead = unreadable === null ? await countAhead({ db, project }, stream, horizon, mostAhead) : 0
    streams.push({ stream, ...counted, ...stands, failed: stands.failed ?? unreadable, ahead, due })
  }
  const due = streams.reduce((total, { due }) => total + due, 0)
  const used = await recentRequests({ db, project }, rate.windowMs, now)
  const others = await countRequests(db, project, rate.windowMs, now)
  const { paused, lost } = await troubleOf(db, project, now)
  return {
    project,
    streams,
    failures: failures.map(toReport),
    lastRun: await readLastRun(db, project),
    clockOffset,
    running: await lockHolder(db, project, now),
    workers: await liveWorkers(db, now),
    paused,
    gaps: await readGaps(db, project),
    writebacks: await countWritebacks(db, project),
    nameless: await countNameless(db),
    heldLanes: await countHeldLanes(db, project),
    behaviours: await readBehaviours(db, project),
    budget: {
      usedInWindow: used.count + others,
      limit: rate.requests,
      windowMs: rate.windowMs,
      forecastMs: Math.ceil((due * rate.windowMs) / rate.requests),
      lost,
    },
  }
}

/** As a sync noted it. */
async function readClock(db: Db, project: string): Promise<number | null> {
  const noted = await readCursor({ db, project }, clockNote)
  return noted === null || Number.isNaN(Number(noted)) ? null : Number(noted)
}

async function countRows(db: Db, project: string, stream: StreamName) {
  const table = sql.table(tableOf[stream])
  const count = (where: RawBuilder<unknown>) =>
    sql`(select count(*) from ${table} where project_id = ${project} ${where})`
  const vanishing = stream !== 'analytics' && stream !== 'availability'
  const gone = vanishing ? count(sql`and deleted_at is not null`) : sql`0`
  const moment = momentOf[stream]
  const newest =
    moment === null ? sql`null` : sql`(select max(${sql.ref(moment)}) from ${table} where project_id = ${project})`
  const { rows } = await sql<{ total: number; deleted: number; newest: string | null }>`
    select ${count(sql``)} as total, ${gone} as deleted, ${newest} as newest`.execute(db)
  const { total = 0, deleted = 0, newest: at = null } = rows[0] ?? {}
  return { rows: total - deleted, deleted, newest: at, unreadable: null }
}

/** A table that is gone, or that may not be read, is no reason to say nothing of the others. */
function cannotRead(error: unknown) {
  if (error instanceof WarehouseError && error.kind === 'unusable') {
    return { rows: 0, deleted: 0, newest: null, unreadable: error.message }
  }
  throw error
}

async function countAllDue(db: Db, project: string, stream: StreamName, now: number): Promise<number> {
  if (!(stream in childStreams)) return 0
  const count = (which: string) => sql`(select count(*) from sync_children where project_id = ${project}
    and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(which)})`
  const { rows } = await sql<{ due: number }>`
    select ${sql.join(Object.values(dueClasses).map(count), sql` + `)} as due`.execute(db)
  return rows[0]?.due ?? 0
}

/** When each stream last came to its end, and what kept it from it the last time. */
async function readStreams(db: Db, project: string, failures: readonly JobFailure[]) {
  const rows = await db.selectFrom('sync_streams').selectAll().where('project_id', '=', project).execute()
  return (stream: StreamName) => {
    const {
      synced_at: syncedAt = null,
      skipped = null,
      failed = null,
      failed_since: failedSince = null,
    } = rows.find((row) => row.stream === stream) ?? {}
    // What a worker's pass threw is noted apart: its run did not live to say so itself.
    const broken = failures.find((failure) => streamOf(failure) === stream)
    if (broken === undefined) return { syncedAt, skipped, failed, failedSince }
    return { syncedAt, skipped, failed: failed ?? broken.reason, failedSince: toReport(broken).since }
  }
}

function toReport({ job, subject, since, lastAt, failures, reason }: JobFailure): FailureReport {
  const at = (ms: number) => rfc3339(Math.floor(ms / 1000))
  return { job, subject, since: at(since), lastAt: at(lastAt), failures, reason }
}

async function readLastRun(db: Db, project: string): Promise<StatusReport['lastRun']> {
  const row = await db
    .selectFrom('sync_runs')
    .select(['id', 'mode', 'started_at as startedAt', 'finished_at as finishedAt', 'outcome', 'requests'])
    .where('project_id', '=', project)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return (row as StatusReport['lastRun'] | undefined) ?? null
}

/** What is known to be missing: the oldest thousand. */
export async function readGaps(db: Db, project: string): Promise<GapReport[]> {
  const rows = await db
    .selectFrom('sync_gaps')
    .select(['stream', 'from_ts as from', 'to_ts as to', 'reason', 'found_at as foundAt'])
    .where('project_id', '=', project)
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .limit(mostGaps)
    .execute()
  return rows as GapReport[]
}

async function countWritebacks(db: Db, project: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select ${await statusNow({ db, project })} as status, count(*) as count from writebacks
    where project_id = ${project} group by 1 order by 1`.execute(db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function countHeldLanes(db: Db, project: string): Promise<number> {
  const { rows } = await sql<{ lanes: number }>`
    select count(distinct lane) as lanes from writebacks where project_id = ${project} and status = 'uncertain'`.execute(
    db,
  )
  return rows[0]?.lanes ?? 0
}

function readBehaviours(db: Db, project: string): Promise<StatusReport['behaviours'][number][]> {
  return db
    .selectFrom('service_behaviours')
    .select(['name', 'value', 'evidence', 'learned_at as learnedAt'])
    .where('project_id', '=', project)
    .orderBy('name')
    .execute()
}
