/** What the overview of a project says, its sync runs, its days, and what the service turned out to do. */
import { sql } from 'kysely'
import {
  countBlockedLanes,
  countWritebacks,
  listFailures,
  readBehaviours,
  readProjectIncidents,
} from '../../maintenance/maintenance.ts'
import type { SyncMode, SyncOutcome } from '../../mirror/mirror.ts'
import { estimateDifferences, listFinishedAudits, pooledMs } from '../../mirror/mirror.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { isWaiting } from './conversations.ts'

/** Rows are counted up to this number: more would take longer, and nobody needs the number. */
export const countLimit = 1000

/** What the overview says beside the streams: numbers up to a limit, each by an index. */
export async function readOverview(context: ProjectDb, now: EpochMs) {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const { rows } = await sql<{ gaps: number; waiting: number; since: string | null }>`
    select
      (select count(*) from (select 1 from sync_gaps
        where project_id = ${project} and resolved_at is null limit ${countLimit + 1}) as found) as gaps,
      (select count(*) from (select 1 from conversations
        where project_id = ${project} and ${isWaiting} limit ${countLimit + 1}) as found) as waiting,
      (select min(waiting_since) from conversations where project_id = ${project} and ${isWaiting}) as since`.execute(
    db,
  )
  const { gaps = 0, waiting = 0, since = null } = rows[0] ?? {}
  return {
    gaps: Number(gaps),
    /** What the audits of the last 30 days show. */
    audits: estimateDifferences(await listFinishedAudits(context, now - pooledMs), now),
    ...(await readProjectIncidents(db, project, now)),
    failures,
    writebacks: await countWritebacks(context),
    heldLanes: Number(await countBlockedLanes(db, project)),
    waiting: { count: Number(waiting), since },
    runs: await listRuns(context, null, null, 5),
  }
}

export type RunRow = {
  readonly id: string
  readonly mode: SyncMode
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly outcome: SyncOutcome | null
  readonly requests: number
  readonly rows: number
  readonly changed: number
}

const columns = sql`id, mode, started_at as "startedAt", finished_at as "finishedAt", outcome, requests,
  rows_read as "rows", rows_changed as "changed"`

/** The newest first, before the run of this id. */
export async function listRuns(
  { db, project }: ProjectDb,
  outcome: string | null,
  before: string | null,
  limit: number,
): Promise<readonly RunRow[]> {
  const { rows } = await sql<RunRow>`
    select ${columns} from sync_runs where project_id = ${project}
      and ${outcome === null ? sql`true` : sql`outcome = ${outcome}`}
      and ${before === null ? sql`true` : sql`id < ${before}`}
    order by id desc limit ${limit}`.execute(db)
  return rows
}

type RunStream = Pick<RunRow, 'requests' | 'rows' | 'changed'> & {
  readonly stream: string
  readonly tookMs: Ms
  readonly skipped: string | null
  readonly failed: string | null
}

/** Null: there is no such run. */
export async function readRun({ db, project }: ProjectDb, id: string) {
  const { rows } = await sql<RunRow & { streams: string | null }>`
    select ${columns}, streams from sync_runs where project_id = ${project} and id = ${id}`.execute(db)
  const [run] = rows
  return run === undefined ? null : { ...run, streams: JSON.parse(run.streams ?? '[]') as readonly RunStream[] }
}

/** A day's numbers for the charts, by the project's local date. Null: nothing to measure on that day. */
export type DayRow = {
  readonly date: string
  readonly visitorMessages: number
  /** Times that a visitor began to wait, by who ended it. */
  readonly answeredByHuman: number
  readonly answeredByAi: number
  readonly notAnswered: number
  /** Of the waits for a human. */
  readonly medianSeconds: number | null
  readonly p90Seconds: number | null
  readonly openAtEnd: number | null
  readonly waitingAtEnd: number | null
  readonly calls: number
}

/** The last days until today. Takes seconds in a large mirror. */
export async function readDays({ db, project, typed }: ProjectDb, from: string): Promise<readonly DayRow[]> {
  const { rows } = await sql<DayRow>`
    select date, visitor_messages as "visitorMessages", answered_by_human as "answeredByHuman",
      answered_by_ai as "answeredByAi", waits - answered_by_human - answered_by_ai as "notAnswered",
      human_answer_median_seconds as "medianSeconds", human_answer_p90_seconds as "p90Seconds",
      open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd", calls
    from report_day where project_id = ${project} and date >= ${typed('date', from)} order by date`.execute(db)
  return rows
}

const deliveryDays = 30

/** Behaviours with their evidence, and webhooks by what was read because of them. */
export async function readServiceFacts({ db, project, typed }: ProjectDb, now: EpochMs) {
  const since = toTimestamp(now - deliveryDays * 86_400_000)
  const { rows } = await sql<{ found: string; count: number; last: string }>`
    select coalesce(found, 'not processed yet') as found, count(*) as count, max(received_at) as last
    from webhook_deliveries where project_id = ${project} and received_at >= ${typed('time', since)}
    group by 1 order by 2 desc limit 50`.execute(db)
  const deliveries = rows.map((row) => ({ ...row, count: Number(row.count) }))
  return { behaviours: await readBehaviours(db, project), deliveries }
}
