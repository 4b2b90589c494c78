/** The waits that went on in a period, the longest first, a page at a time by key. */
import { sql } from 'kysely'
import type { PeriodFilter } from '../../analytics/analytics.ts'
import { sqlDialects } from '../../analytics/views/sql-dialect.ts'
import type { EpochMs, Seconds } from '../../values/time.ts'
import { allOf } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowsPerPage, toPage } from '../core/list-page.ts'

export const waitEnds = ['human', 'ai', 'handled', 'nobody'] as const

/** `ended`: by whom; null = by anybody or not yet. */
export type WaitFilter = PeriodFilter & { readonly ended: (typeof waitEnds)[number] | null }

export type ListedWait = Readonly<Record<'id' | 'startedAt', string>> &
  Readonly<
    Record<'visitorId' | 'name' | 'email' | 'endedAt' | 'endedByName' | 'agent', string | null>
  > & {
    readonly number: number
    readonly endedBy: (typeof waitEnds)[number]
    /** Of one that goes on: so far. */
    readonly seconds: Seconds
    /** Until a human answered; null also if an earlier wait has that answer. */
    readonly humanSeconds: Seconds | null
    readonly isComplete: boolean
    /** Of all pages. */
    readonly total: number
  }

/**
 * `after`: the `next` of the page before; null = the first one. What goes on is as long on all
 * pages as it was on the first. A message after a handling that reopened nothing, and that nobody
 * answered, is no wait of which anyone knows how long it is. Reads the facts from end to end.
 */
export async function readWaits(
  { db, kind, project, typed }: ProjectDb,
  { from, to, agent, ended }: WaitFilter,
  after: string | null,
  now: EpochMs,
  limit = rowsPerPage,
) {
  const [, at, reached, number, id = ''] =
    /^(\d{1,11}) (\d{1,11}) (\d{1,9}) (.+)$/s.exec(after ?? '') ?? []
  const asOf = Number(at ?? Math.floor(now / 1000))
  const epoch = (column: string) => sql.raw(sqlDialects[kind].epoch(column))
  const goesOn = sql`${typed('integer', asOf)} - ${epoch('started_at')}`
  // Most have an answer, and times are slow to parse. The clock of the service may be ahead.
  const length = sql`coalesce(answer_seconds, case
    when ended_at is not null then ${epoch('ended_at')} - ${epoch('started_at')}
    when ${goesOn} > 0 then ${goesOn} else 0 end)`
  const within = allOf([
    sql`started_date <= ${typed('date', to)}`,
    sql`(ended_date >= ${typed('date', from)}
      or (ended_by = 'nobody' and open_from_date is not null))`,
    ended === null ? null : sql`ended_by = ${ended}`,
    agent === null ? null : sql`human_name = ${agent}`,
  ])
  const isAfter =
    reached === undefined
      ? sql`true`
      : sql`(seconds < ${Number(reached)} or (seconds = ${Number(reached)}
          and (conversation_id, wait_number) > (${id}, ${Number(number)})))`
  const { rows } = await sql<ListedWait>`
    select w.conversation_id as id, w.wait_number as number, w.started_at as "startedAt",
      w.ended_at as "endedAt", w.ended_by as "endedBy", w.ended_by_name as "endedByName",
      w.human_seconds as "humanSeconds", found.seconds, found.total, c.visitor_id as "visitorId",
      c.assigned_agent_id as agent, c.is_complete as "isComplete", v.name, v.email
    from (
      select * from (
        select conversation_id, wait_number, ${length} as seconds,
          count(*) over () as total
        from fct_wait where project_id = ${project} and ${within}
      ) timed where ${isAfter}
      order by seconds desc, conversation_id, wait_number limit ${limit + 1}
    ) found
      join fct_wait w on w.project_id = ${project} and w.conversation_id = found.conversation_id
        and w.wait_number = found.wait_number
      join fct_conversation c on c.project_id = ${project}
        and c.conversation_id = found.conversation_id
      left join visitors v on v.project_id = ${project} and v.id = c.visitor_id
    order by found.seconds desc, found.conversation_id, found.wait_number`.execute(db)
  const listed = rows.map((row) => ({ ...row, isComplete: Boolean(row.isComplete) }))
  const placeOf = (last: ListedWait) => `${asOf} ${last.seconds} ${last.number} ${last.id}`
  return { ...toPage(listed, limit, placeOf), total: Number(rows[0]?.total ?? 0) }
}
