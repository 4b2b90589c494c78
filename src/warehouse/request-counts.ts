/** Requests of what is no run (pushes, dry runs, write-backs and webhooks of workers), for `status` to count. */
import { sql } from 'kysely'
import { stringifyJson } from '../core/json.ts'
import type { EpochMs } from '../core/time.ts'
import type { Db } from './database/connection-pool.ts'
import { addSample, keepSamplesMs, parseSamples, type RequestSample, requestsSince } from './mirror/request-samples.ts'

export type RequestPurpose = 'push' | 'dry_run' | 'writebacks' | 'webhooks'

export type RequestSource = {
  readonly project: string
  /** Of one use of the service. */
  readonly id: string
  readonly purpose: RequestPurpose
  /** When it began. */
  readonly since: EpochMs
}

/** `requests`: how many it has sent so far. Rows that are too old to count go with somebody else's note. */
export async function recordRequests(db: Db, source: RequestSource, requests: number, now: EpochMs): Promise<void> {
  const own = { project_id: source.project, id: source.id }
  const row = await db
    .selectFrom('sync_requests')
    .select('request_log')
    .where((eb) => eb.and(own))
    .executeTakeFirst()
  const before: RequestSample[] = row === undefined ? [[source.since, 0]] : parseSamples(row.request_log)
  const state = { beat_at: now, request_log: stringifyJson(addSample(before, [now, requests])) }
  await db
    .insertInto('sync_requests')
    .values({ ...own, purpose: source.purpose, ...state })
    .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet(state))
    .execute()
  await db
    .deleteFrom('sync_requests')
    .where('beat_at', '<', now - keepSamplesMs)
    .execute()
}

/** Requests within the last `withinMs`, beside those of runs. */
export async function countNonRunRequests(db: Db, project: string, withinMs: number, now: EpochMs): Promise<number> {
  const { rows } = await sql<{ request_log: string | null }>`
    select request_log from sync_requests where project_id = ${project} and beat_at > ${now - withinMs}`.execute(db)
  return rows.reduce((total, row) => total + requestsSince(parseSamples(row.request_log), now - withinMs), 0)
}
