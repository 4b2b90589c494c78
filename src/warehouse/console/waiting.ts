/** Who waits for an answer, the longest first. */
import { sql } from 'kysely'
import type { WaitingData, WaitingRow } from '../../core/console/data.ts'
import { type EpochMs, type Ms, parseTime, rfc3339, toTimestamp } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { isWaiting } from './overview.ts'

export type WaitingFilter = {
  /** Who waits for at least that long. */
  readonly minAgeMs: Ms
  /** Nobody is assigned. */
  readonly isUnassigned: boolean
  /** The `next` of the page before. */
  readonly after: string | null
}

const pageRows = 50

export const waitingAges: readonly Ms[] = [0, 15 * 60_000, 3_600_000, 86_400_000]

export async function readWaiting(context: ProjectDb, filter: WaitingFilter, now: EpochMs): Promise<WaitingData> {
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
