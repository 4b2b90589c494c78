/** Everything that the pages of the console read of one project. */

import { type RawBuilder, sql } from 'kysely'
import { isPagedStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { listFailures } from '../../maintenance/sql/job-failures.ts'
import { readProjectIncidents } from '../../maintenance/sql/projects.ts'
import { countBlockedLanes, countWritebacks, readBehaviours } from '../../maintenance/sql/status.ts'
import { listLiveWorkers } from '../../maintenance/sql/workers.ts'
import { estimateDifferences, pooledMs } from '../../mirror/core/audit.ts'
import { listFinishedAudits } from '../../mirror/sql/audits.ts'
import { readBudget } from '../../service/sql/budget-history.ts'
import { type EpochMs, type Ms, parseTime, rfc3339, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  countLimit,
  type DayRow,
  type FieldRow,
  type OverviewData,
  type RunData,
  type RunRow,
  type RunStream,
  type SchemaData,
  type ServiceData,
  type WaitingData,
  type WaitingRow,
} from '../core/data.ts'
import { readConversation, readVisitor } from './conversation.ts'
import { search } from './search.ts'
import { countStreamRows, readFailingParents, readGaps, readStoredStreams } from './stream-rows.ts'

export type ConsoleReads = ReturnType<typeof createConsoleReads>

export function createConsoleReads(context: ProjectDb) {
  return {
    countWorkers: async (now: EpochMs) => (await listLiveWorkers(context.db, now)).length,
    budget: (from: EpochMs, to: EpochMs, stepMs: Ms) => readBudget(context, from, to, stepMs),
    overview: (now: EpochMs) => readOverview(context, now),
    streams: (selected: readonly StreamName[], now: EpochMs) => readStoredStreams(context, selected, now),
    countRows: (stream: StreamName) => countStreamRows(context, stream),
    gaps: (stream: StreamName | null) => readGaps(context, stream),
    failingParents: (stream: StreamName | null) => readFailingParents(context, stream),
    runs: (outcome: string | null, before: string | null, limit: number) => listRuns(context, outcome, before, limit),
    waiting: (filter: WaitingFilter, now: EpochMs) => readWaiting(context, filter, now),
    conversation: (id: string, before: string | null) => readConversation(context, id, before),
    visitor: (id: string) => readVisitor(context, id),
    days: (from: string) => readDays(context, from),
    fields: () => readFields(context),
    service: (now: EpochMs) => readServiceFacts(context, now),
    search: (text: string, before: string | null) => search(context, text, before),
    run: (id: string) => readRun(context, id),
  }
}

/** What the overview says beside the streams: numbers up to a limit, each by an index. */
type StoredOverview = Omit<OverviewData, 'streams' | 'budget' | 'workers'>

async function readOverview(context: ProjectDb, now: EpochMs): Promise<StoredOverview> {
  const { db, project } = context
  const failures = await listFailures(db, project)
  const { paused, held } = await readProjectIncidents(db, project, now)
  const { rows } = await sql<{ gaps: number; waiting: number; since: string | null; draft: string | null }>`
    select
      (select count(*) from (select 1 from sync_gaps
        where project_id = ${project} and resolved_at is null limit ${countLimit + 1}) as found) as gaps,
      (select count(*) from (select 1 from conversations
        where project_id = ${project} and ${isWaiting} limit ${countLimit + 1}) as found) as waiting,
      (select min(waiting_since) from conversations where project_id = ${project} and ${isWaiting}) as since,
      (select min(created_at) from writebacks where project_id = ${project} and status = 'draft') as draft`.execute(db)
  const { gaps = 0, waiting = 0, since = null, draft = null } = rows[0] ?? {}
  return {
    gaps: Number(gaps),
    audits: estimateDifferences(await listFinishedAudits(context, now - pooledMs), now),
    paused,
    held,
    failures: failures.map(({ key, ...failure }) => ({
      ...failure,
      subject: key,
      since: toTimestamp(failure.since),
      lastAt: toTimestamp(failure.lastAt),
    })),
    writebacks: await countWritebacks(context),
    oldestDraft: draft,
    heldLanes: Number(await countBlockedLanes(db, project)),
    waiting: { count: Number(waiting), since },
    runs: await listRuns(context, null, null, 5),
  }
}

/** The condition of the index `conversations_waiting`. */
const isWaiting = sql`waiting_since is not null and handled_at is null and deleted_at is null`

/** Sync runs for the console. */
const columns = sql`id, mode, started_at as "startedAt", finished_at as "finishedAt", outcome, requests,
  rows_read as "rows", rows_changed as "changed"`

/** The newest first, before the run of this id. */
async function listRuns(
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

/** Null: there is no such run. */
async function readRun({ db, project }: ProjectDb, id: string): Promise<RunData | null> {
  const { rows } = await sql<RunRow & { streams: string | null }>`
    select ${columns}, streams from sync_runs where project_id = ${project} and id = ${id}`.execute(db)
  const [run] = rows
  if (run === undefined) return null
  return { ...run, streams: (JSON.parse(run.streams ?? '[]') as RunStream[]) ?? [] }
}

/** Who waits for an answer, the longest first. */
type WaitingFilter = {
  /** Who waits for at least that long. */
  readonly minAgeMs: Ms
  /** Nobody is assigned. */
  readonly isUnassigned: boolean
  /** The `next` of the page before. */
  readonly after: string | null
}

const pageRows = 50

const waitingAges: readonly Ms[] = [0, 15 * 60_000, 3_600_000, 86_400_000]

async function readWaiting(context: ProjectDb, filter: WaitingFilter, now: EpochMs): Promise<WaitingData> {
  const { db, project, typed } = context
  const [since = '', id = ''] = (filter.after ?? '').split(' ')
  const latest = typed('time', toTimestamp(now - filter.minAgeMs))
  // From an address, so perhaps a day that no calendar has, which Postgres refuses.
  const sinceSeconds = parseTime(since) ?? -1
  const start =
    sinceSeconds < 0 ? sql`true` : sql`(waiting_since, id) > (${typed('time', rfc3339(sinceSeconds))}, ${id})`
  const { rows } = await sql<WaitingRow>`
    select found.id, found.waiting_since as since, found.visitor_id as "visitorId", visitors.name, visitors.email,
      found.assigned_agent_id as agent,
      (select content from messages where project_id = ${project} and conversation_id = found.id and kind = 'utterance'
        and deleted_at is null order by id desc limit 1) as "lastWords"
    from (select id, waiting_since, visitor_id, assigned_agent_id from conversations
      where project_id = ${project} and ${isWaiting} and waiting_since <= ${latest} and ${start}
        and ${filter.isUnassigned ? sql`assigned_agent_id is null` : sql`true`}
      order by waiting_since, id limit ${pageRows + 1}) as found
      left join visitors on visitors.project_id = ${project} and visitors.id = found.visitor_id
    order by found.waiting_since, found.id`.execute(db)
  const shown = rows.slice(0, pageRows)
  const last = rows.length > pageRows ? shown.at(-1) : undefined
  const next = last === undefined ? null : `${last.since} ${last.id}`
  return { rows: shown, next, buckets: await countByAge(context, now) }
}

async function countByAge({ db, project, typed }: ProjectDb, now: EpochMs): Promise<WaitingData['buckets']> {
  const counts = waitingAges.map(
    (age) => sql`sum(case when waiting_since <= ${typed('time', toTimestamp(now - age))} then 1 else 0 end)`,
  )
  const named = counts.map((count, index) => sql`${count} as ${sql.ref(`n${index}`)}`)
  const { rows } = await sql<Record<string, number | null>>`
    select ${sql.join(named)} from conversations where project_id = ${project} and ${isWaiting}`.execute(db)
  return waitingAges.map((minAgeMs, index) => ({ minAgeMs, count: Number(rows[0]?.[`n${index}`] ?? 0) }))
}

/** What the service turned out to do and to send: behaviours, webhooks, undocumented fields. */
const deliveryDays = 30

async function readServiceFacts({ db, project, typed }: ProjectDb, now: EpochMs): Promise<ServiceData> {
  const since = toTimestamp(now - deliveryDays * 86_400_000)
  const { rows } = await sql<ServiceData['deliveries'][number]>`
    select coalesce(found, 'not processed yet') as found, count(*) as count, max(received_at) as last
    from webhook_deliveries where project_id = ${project} and received_at >= ${typed('time', since)}
    group by 1 order by 2 desc limit 50`.execute(db)
  const deliveries = rows.map((row) => ({ ...row, count: Number(row.count) }))
  return { behaviours: await readBehaviours(db, project), deliveries }
}

type StoredField = Omit<FieldRow, 'filled'>

const sampledRows = 1000
const maxFields = 500

async function readFields(context: ProjectDb): Promise<SchemaData> {
  const { rows } = await sql<StoredField>`
    select stream, path, column_name as "column", type, first_seen_at as "firstSeen" from discovered_fields
    where project_id = ${context.project} order by first_seen_at desc, stream, path limit ${maxFields}`.execute(
    context.db,
  )
  const byStream = Map.groupBy(rows, ({ stream }) => stream)
  const filled = new Map<string, number>()
  for (const [stream, fields] of byStream) {
    const columns = fields.flatMap(({ column }) => column ?? [])
    for (const [column, share] of await readShares(context, stream, columns)) filled.set(`${stream} ${column}`, share)
  }
  const fields = rows.map((row) => ({ ...row, filled: filled.get(`${row.stream} ${row.column}`) ?? null }))
  return { fields, sampled: sampledRows }
}

/** The share of the newest rows that have each column; of streams without a time, of some rows. */
async function readShares(
  { db, project }: ProjectDb,
  stream: StreamName,
  columns: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (columns.length === 0) return new Map()
  const { table } = streamSpecs[stream]
  const column = isPagedStream(stream) ? streamSpecs[stream].startColumn : null
  const order: RawBuilder<unknown> = column === null ? sql`` : sql`order by ${sql.ref(column)} desc`
  const counts = columns.map((name, n) => sql`count(${sql.ref(name)}) as ${sql.ref(`n${n}`)}`)
  const { rows } = await sql<Record<string, number>>`
    select count(*) as total, ${sql.join(counts)}
    from (select * from ${sql.table(table)} where project_id = ${project} ${order} limit ${sampledRows}) as newest`.execute(
    db,
  )
  const total = Number(rows[0]?.total ?? 0)
  return new Map(columns.map((name, n) => [name, total === 0 ? 0 : Number(rows[0]?.[`n${n}`] ?? 0) / total]))
}

/** The last days until today, by the project's local date. Takes seconds in a large mirror. */
async function readDays({ db, project, typed }: ProjectDb, from: string): Promise<readonly DayRow[]> {
  const { rows } = await sql<DayRow>`
    select date, visitor_messages as "visitorMessages", answered_by_human as "answeredByHuman",
      answered_by_ai as "answeredByAi", waits - answered_by_human - answered_by_ai as "notAnswered",
      human_answer_median_seconds as "medianSeconds", human_answer_p90_seconds as "p90Seconds",
      open_at_end as "openAtEnd", waiting_at_end as "waitingAtEnd", calls
    from report_day where project_id = ${project} and date >= ${typed('date', from)} order by date`.execute(db)
  return rows
}
