/** How many requests were sent lately: by sync runs (`sync_runs`) and by everything else (`sync_requests`). */
import { sql } from 'kysely'
import { stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'

export type RequestPurpose = 'push' | 'dry_run' | 'writebacks' | 'webhooks' | 'audit'

export type RequestSource = {
  readonly project: ProjectId
  /** Unique for each push, dry run, audit or worker process. */
  readonly id: string
  readonly purpose: RequestPurpose
  /** When it started. */
  readonly since: EpochMs
}

/** `requests`: how many the source has sent so far. Also deletes rows that are too old to count. */
export async function recordRequests(db: Db, source: RequestSource, requests: number, now: EpochMs): Promise<void> {
  const key = { project_id: source.project, id: source.id }
  const { rows } = await sql<{ log: string }>`
    select request_log as log from sync_requests where project_id = ${key.project_id} and id = ${key.id}`.execute(db)
  const previous: RequestSample[] = rows[0] === undefined ? [[source.since, 0]] : parseSamples(rows[0].log)
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

/** Requests within the last `withinMs`: of sync runs, as far as they have reported them, and of everything else. */
export async function countRecentRequests(db: Db, project: ProjectId, withinMs: number, now: EpochMs): Promise<number> {
  const since = now - withinMs
  const { rows } = await sql<{ log: string | null }>`
    select request_log as log from sync_runs where project_id = ${project} and beat_at > ${since}
    union all select request_log from sync_requests where project_id = ${project} and beat_at > ${since}`.execute(db)
  return rows.reduce((total, { log }) => total + requestsSince(parseSamples(log), since), 0)
}

/** A time in milliseconds since 1970, and the requests sent until then. */
export type RequestSample = readonly [at: number, requests: number]

/** Longer than any usual rate window, which is a minute. */
const keepSamplesMs = 10 * 60_000
const sampleIntervalMs = 1000

/** At most one sample a second, of the last ten minutes; plus the last one before them. */
export function addSample(samples: readonly RequestSample[], sample: RequestSample): RequestSample[] {
  const [last, before] = [samples.at(-1), samples.at(-2)]
  const isTooClose = last !== undefined && before !== undefined && last[0] - before[0] < sampleIntervalMs
  const kept = isTooClose ? samples.slice(0, -1) : samples
  const firstToKeep = kept.findLastIndex(([at]) => at < sample[0] - keepSamplesMs)
  return [...kept.slice(Math.max(0, firstToKeep)), sample]
}

/** Requests sent after `since`. Between two samples it overestimates, so that a rate limit is never exceeded. */
export function requestsSince(samples: readonly RequestSample[], since: number): number {
  const last = samples.at(-1)
  const before = samples.findLast(([at]) => at <= since)
  return last === undefined ? 0 : last[1] - (before?.[1] ?? 0)
}

export function parseSamples(text: string | null | undefined): RequestSample[] {
  return text == null ? [] : JSON.parse(text)
}
