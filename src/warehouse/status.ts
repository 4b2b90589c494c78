/** How the mirror of a project stands, read from the warehouse alone. */
import { type RawBuilder, sql } from 'kysely'
import { childStreams, type StreamReport } from '../core/mirror.ts'
import type { Rate } from '../core/rate.ts'
import type { GapReport, StatusReport } from '../core/report.ts'
import { type StreamName, streamNames } from '../core/row.ts'
import { lockHolder } from './lock.ts'
import { recentRequests } from './runs.ts'
import type { Db } from './session.ts'
import { tableOf } from './streamtables.ts'

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

/** `selected`: the streams that the project mirrors; what others would still have to read is not due. */
export async function readStatus(
  db: Db,
  project: string,
  now: number,
  rate: Rate,
  selected: readonly StreamName[] = streamNames,
): Promise<StatusReport> {
  const history = await readHistory(db, project)
  const streams = []
  for (const stream of streamNames) {
    const counted = await countRows(db, project, stream)
    const due = selected.includes(stream) ? await countAllDue(db, project, stream, now) : 0
    streams.push({ stream, ...counted, ...history(stream), due })
  }
  const due = streams.reduce((total, { due }) => total + due, 0)
  const used = await recentRequests({ db, project }, rate.windowMs, now)
  return {
    project,
    streams,
    lastRun: await readLastRun(db, project),
    running: await lockHolder(db, project, now),
    gaps: await readGaps(db, project),
    writebacks: await countWritebacks(db, project),
    behaviours: await readBehaviours(db, project),
    budget: {
      usedInWindow: used.count,
      limit: rate.requests,
      windowMs: rate.windowMs,
      forecastMs: Math.ceil((due * rate.windowMs) / rate.requests),
    },
  }
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
  return { rows: total - deleted, deleted, newest: at }
}

async function countAllDue(db: Db, project: string, stream: StreamName, now: number): Promise<number> {
  if (!(stream in childStreams)) return 0
  const count = (which: string) => sql`(select count(*) from sync_children where project_id = ${project}
    and stream = ${stream} and due_at is not null and due_at <= ${now} and ${sql.raw(which)})`
  const { rows } = await sql<{ refresh: number; first: number }>`
    select ${count('fetched > 0')} as refresh, ${count('fetched = 0')} as first`.execute(db)
  return (rows[0]?.refresh ?? 0) + (rows[0]?.first ?? 0)
}

/** Of the latest runs: when each stream last came to its end, and what kept it from it in the very last one. */
async function readHistory(db: Db, project: string) {
  const rows = await db
    .selectFrom('sync_runs')
    .select(['finished_at', 'streams'])
    .where('project_id', '=', project)
    .where('streams', 'is not', null)
    .orderBy('id', 'desc')
    .limit(200)
    .execute()
  const runs = rows.map((row) => ({ at: row.finished_at, reports: JSON.parse(row.streams ?? '[]') as StreamReport[] }))
  return (stream: StreamName) => {
    const own = runs.flatMap(({ at, reports }) =>
      reports.filter((it) => it.stream === stream).map((report) => ({ at, report })),
    )
    const done = own.find(({ report }) => report.failed === null && report.skipped === null)
    const last = own[0]?.report
    return { syncedAt: done?.at ?? null, skipped: last?.skipped ?? null, failed: last?.failed ?? null }
  }
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

async function readGaps(db: Db, project: string): Promise<GapReport[]> {
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
  const rows = await db
    .selectFrom('writebacks')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('project_id', '=', project)
    .groupBy('status')
    .orderBy('status')
    .execute()
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

function readBehaviours(db: Db, project: string): Promise<StatusReport['behaviours'][number][]> {
  return db
    .selectFrom('service_behaviours')
    .select(['name', 'value', 'evidence', 'learned_at as learnedAt'])
    .where('project_id', '=', project)
    .orderBy('name')
    .execute()
}
