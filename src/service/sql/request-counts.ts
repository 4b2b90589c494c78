/** The requests of every process: how many lately, and over time with the pauses between them. */
import { sql } from 'kysely'
import { stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { Priority } from '../core/api-request.ts'

export type RequestPurpose = 'push' | 'writebacks' | 'audit'

/** `requests`: how many the source has sent so far. Also deletes rows that are too old to count. */
export async function recordRequests(
  db: Db,
  source: {
    readonly project: ProjectId
    /** Unique for each push, audit or worker process. */
    readonly id: string
    readonly purpose: RequestPurpose
    readonly since: EpochMs
  },
  requests: number,
  now: EpochMs,
): Promise<void> {
  const key = { project_id: source.project, id: source.id }
  const { rows } = await sql<{ log: string }>`
    select request_log as log from sync_requests where project_id = ${key.project_id}
    and id = ${key.id}`.execute(db)
  const previous: RequestSample[] =
    rows[0] === undefined ? [[source.since, 0]] : parseSamples(rows[0].log)
  const state = { beat_at: now, request_log: stringifyJson(addSample(previous, [now, requests])) }
  await db
    .insertInto('sync_requests')
    .values({ ...key, purpose: source.purpose, ...state })
    .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet(state))
    .execute()
  await db
    .deleteFrom('sync_requests')
    .where('beat_at', '<', now - keepSamplesMs)
    .execute()
}

/** Within the last `withinMs`: of sync runs, as reported, and of everything else. */
export async function countRecentRequests(
  db: Db,
  project: ProjectId,
  withinMs: number,
  now: EpochMs,
): Promise<number> {
  const since = now - withinMs
  const { rows } = await sql<{ log: string | null }>`
    select request_log as log from sync_runs where project_id = ${project} and beat_at > ${since}
    union all select request_log from sync_requests where project_id = ${project}
    and beat_at > ${since}`.execute(db)
  return rows.reduce((total, { log }) => total + requestsSince(parseSamples(log), since), 0)
}

/** A time in milliseconds since 1970, and the requests sent until then. */
export type RequestSample = readonly [at: number, requests: number]

/** Longer than any usual rate window, which is a minute. */
const keepSamplesMs = 10 * 60_000
const sampleIntervalMs = 1000

/** At most one sample a second, of the last ten minutes; plus the last one before them. */
export function addSample(
  samples: readonly RequestSample[],
  sample: RequestSample,
): RequestSample[] {
  const last = samples.at(-1)
  const before = samples.at(-2)
  const isTooClose =
    last !== undefined && before !== undefined && last[0] - before[0] < sampleIntervalMs
  const kept = isTooClose ? samples.slice(0, -1) : samples
  const firstToKeep = kept.findLastIndex(([at]) => at < sample[0] - keepSamplesMs)
  return [...kept.slice(Math.max(0, firstToKeep)), sample]
}

/** Between two samples it overestimates, so that a rate limit is never exceeded. */
export function requestsSince(samples: readonly RequestSample[], since: number): number {
  const last = samples.at(-1)
  const before = samples.findLast(([at]) => at <= since)
  return last === undefined ? 0 : last[1] - (before?.[1] ?? 0)
}

export const parseSamples = (text: string | null | undefined): RequestSample[] =>
  text == null ? [] : JSON.parse(text)

export type MinuteRequests = {
  readonly project: ProjectId
  /** Its first millisecond. */
  readonly minute: EpochMs
  readonly priority: Priority
  readonly requests: number
  readonly throttled: number
}

/** Adds to what other processes have counted. */
export async function addMinutes(db: Db, minutes: readonly MinuteRequests[]): Promise<void> {
  for (const { project, minute, priority, requests, throttled } of minutes)
    await db
      .insertInto('budget_minutes')
      .values({ project_id: project, minute: toTimestamp(minute), priority, requests, throttled })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'minute', 'priority']).doUpdateSet({
          requests: sql`budget_minutes.requests + ${requests}`,
          throttled: sql`budget_minutes.throttled + ${throttled}`,
        }),
      )
      .execute()
}

export type BudgetPause = {
  readonly kind: 'throttled' | 'closed'
  readonly from: EpochMs
  readonly to: EpochMs
}

/** A pause that another process saw, too, or that is seen again, stays one. */
export async function recordPause(
  db: Db,
  project: ProjectId,
  { kind, from, to }: BudgetPause,
): Promise<void> {
  const sameMs = 5000
  const { numAffectedRows } = await sql`
    update budget_pauses set to_ms = case when to_ms > ${to} then to_ms else ${to} end
    where project_id = ${project} and kind = ${kind} and from_ms <= ${from + sameMs}
    and to_ms >= ${from - sameMs}`.execute(db)
  if (numAffectedRows !== 0n) return
  await db
    .insertInto('budget_pauses')
    .values({ project_id: project, kind, from_ms: from, to_ms: to })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Nothing is sent of the project until then, for any process; null: it may be sent now. */
export async function readOpenPause(
  db: Db,
  project: ProjectId,
  now: EpochMs,
): Promise<EpochMs | null> {
  const { rows } = await sql<{ until: number | string | null }>`
    select max(to_ms) as until from budget_pauses
    where project_id = ${project} and kind = 'throttled' and from_ms <= ${now}
    and to_ms > ${now}`.execute(db)
  const until = rows[0]?.until ?? null
  return until === null ? null : Number(until)
}

export async function deleteBudgetHistory(db: Db, before: EpochMs): Promise<void> {
  await db.deleteFrom('budget_minutes').where('minute', '<', toTimestamp(before)).execute()
  await db.deleteFrom('budget_pauses').where('to_ms', '<', before).execute()
}

/** In bars of `stepMs`, which begin at multiples of it. */
export async function readBudget(context: ProjectDb, from: EpochMs, to: EpochMs, stepMs: Ms) {
  const { db, kind, project, typed } = context
  const start = Math.floor(from / stepMs) * stepMs
  const bar = sql`${epochSeconds(kind, 'minute')} / ${sql.lit(stepMs / 1000)}`
  const { rows } = await sql<{
    bar: number
    priority: Priority
    requests: number
    throttled: number
  }>`
    select ${bar} as bar, priority, sum(requests) as requests, sum(throttled) as throttled
    from budget_minutes
    where project_id = ${project} and minute >= ${typed('time', toTimestamp(start))}
    and minute <= ${typed('time', toTimestamp(to))}
    group by 1, 2 order by 1`.execute(db)
  const bars = new Map<
    EpochMs,
    {
      readonly at: EpochMs
      readonly requests: Readonly<Partial<Record<Priority, number>>>
      readonly throttled: number
    }
  >()
  for (const row of rows) {
    const at = Number(row.bar) * stepMs
    const { requests = {}, throttled = 0 } = bars.get(at) ?? {}
    const added = { ...requests, [row.priority]: Number(row.requests) }
    bars.set(at, { at, requests: added, throttled: throttled + Number(row.throttled) })
  }
  return {
    from: start,
    to,
    stepMs,
    bars: [...bars.values()],
    pauses: await readPauses(context, start, to),
  }
}

async function readPauses(
  { db, project }: ProjectDb,
  from: EpochMs,
  to: EpochMs,
): Promise<readonly BudgetPause[]> {
  const { rows } = await sql<BudgetPause>`
    select kind, from_ms as "from", to_ms as "to" from budget_pauses
    where project_id = ${project} and to_ms >= ${from} and from_ms <= ${to}
    order by from_ms limit 500`.execute(db)
  return rows
}
