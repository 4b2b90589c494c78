/** What a report shows of a project as it is now, whatever the period. */
import { sql } from 'kysely'
import type { Seconds } from '../../core/time.ts'
import type { SnapshotReader } from '../database/snapshot.ts'

export type OpenQueue = {
  readonly open: number
  readonly waiting: number
  /** Those who wait longest, at most `maxWaiting`. */
  readonly longest: readonly {
    readonly conversationId: string
    /** Null: not known, or the settings leave it out. */
    readonly visitorName: string | null
    /** Likely name of the assigned agent, or else the id. */
    readonly agent: string | null
    readonly waitingSince: string
    readonly waitingSeconds: Seconds
  }[]
}

export type QualityRow = {
  readonly what: string
  readonly meaning: string
  readonly all: number
  readonly wrong: number
}

export type StreamRow = {
  readonly stream: string
  readonly syncedAt: string | null
  readonly skipped: string | null
  readonly failed: string | null
  readonly openGaps: number
  readonly neverRead: number
}

const maxWaiting = 10

export async function readQueue(read: SnapshotReader, project: string): Promise<OpenQueue> {
  const [counts] = await read(sql<Pick<OpenQueue, 'open' | 'waiting'>>`
    select count(*) as open, count(waiting_since) as waiting
    from report_open
    where project_id = ${project}`)
  const longest = await read(sql<OpenQueue['longest'][number]>`
    select o.conversation_id as "conversationId", o.visitor_name as "visitorName",
      coalesce(a.likely_name, o.assigned_agent_id) as agent, o.waiting_since as "waitingSince",
      o.waiting_seconds as "waitingSeconds"
    from report_open o
    left join dim_agent a on a.project_id = o.project_id and a.agent_id = o.assigned_agent_id
    where o.project_id = ${project} and o.waiting_since is not null
    order by o.waiting_since, o.conversation_id
    limit ${sql.lit(maxWaiting)}`)
  return { open: counts?.open ?? 0, waiting: counts?.waiting ?? 0, longest }
}

export function readQuality(read: SnapshotReader, project: string): Promise<QualityRow[]> {
  return read(sql<QualityRow>`
    select what, meaning, rows_all as "all", rows_wrong as wrong
    from report_quality
    where project_id = ${project} and rows_wrong > 0
    order by what`)
}

export function readStreams(read: SnapshotReader, project: string): Promise<StreamRow[]> {
  return read(sql<StreamRow>`
    select stream, synced_at as "syncedAt", skipped, failed, open_gaps as "openGaps", never_read as "neverRead"
    from report_freshness
    where project_id = ${project}
    order by stream`)
}
