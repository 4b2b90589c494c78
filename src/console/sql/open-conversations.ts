/** The open conversations, filtered and sorted, a page at a time by key. */
import { sql } from 'kysely'
import { isDerived } from '../../analytics/sql/facts-state.ts'
import { type EpochMs, type Ms, parseTime, rfc3339, toTimestamp } from '../../values/time.ts'
import { allOf } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowsPerPage, toPage } from '../core/list-page.ts'

/** The earliest of these times comes first; what has none comes last. */
export const openOrders = {
  age: 'created_at',
  wait: 'waiting_since',
  silence: 'last_utterance_at',
} as const

export type OpenFilter = {
  readonly minAgeMs: Ms
  /** Null: waiting or not. */
  readonly isWaiting: boolean | null
  /** An id; empty = nobody; null = whoever it is. */
  readonly agent: string | null
  readonly origin: string | null
  readonly order: keyof typeof openOrders
}

export type OpenConversation = { readonly id: string } & Readonly<
  Record<
    | 'visitorId'
    | 'name'
    | 'email'
    | 'createdAt'
    | 'waitingSince'
    | 'lastAt'
    | 'lastBy'
    | 'agent'
    | 'origin',
    string | null
  >
>

/** `after`: the `next` of the page before; null = the first one. */
export async function readOpen(
  { db, project, typed }: ProjectDb,
  { minAgeMs, isWaiting, agent, origin, order }: OpenFilter,
  after: string | null,
  now: EpochMs,
  limit = rowsPerPage,
) {
  const time = sql.ref(openOrders[order])
  const [, at = '', id = ''] = /^(\S*) (.+)$/s.exec(after ?? '') ?? []
  const seconds = parseTime(at)
  const reached = typed('time', rfc3339(seconds ?? 0))
  const isAfter =
    seconds === undefined
      ? sql`${time} is null and conversation_id > ${id}`
      : sql`(${time} > ${reached} or ${time} is null
          or (${time} = ${reached} and conversation_id > ${id}))`
  const conditions = allOf([
    minAgeMs === 0 ? null : sql`created_at <= ${typed('time', toTimestamp(now - minAgeMs))}`,
    isWaiting === null ? null : sql`(waiting_since is not null) = ${sql.lit(isWaiting)}`,
    agent === null ? null : sql`coalesce(assigned_agent_id, '') = ${agent}`,
    origin === null ? null : sql`origin = ${origin}`,
    id === '' ? null : isAfter,
  ])
  const { rows } = await sql<OpenConversation>`
    select c.conversation_id as id, c.visitor_id as "visitorId", c.created_at as "createdAt",
      c.waiting_since as "waitingSince", c.last_utterance_at as "lastAt",
      c.last_utterance_by as "lastBy", c.assigned_agent_id as agent, c.origin, v.name, v.email
    from (
      select conversation_id, ${time} as place
      from fct_conversation where is_open and project_id = ${project} and ${conditions}
      order by ${time} is null, ${time}, conversation_id limit ${limit + 1}
    ) found
      join fct_conversation c on c.project_id = ${project}
        and c.conversation_id = found.conversation_id
      left join visitors v on v.project_id = ${project} and v.id = c.visitor_id
    order by found.place is null, found.place, found.conversation_id`.execute(db)
  return toPage(rows, limit, ({ id: last, createdAt, waitingSince, lastAt }) => {
    const timeOf = { age: createdAt, wait: waitingSince, silence: lastAt }
    return `${timeOf[order] ?? ''} ${last}`
  })
}

export const openAges: readonly Ms[] = [0, 3_600_000, 86_400_000, 7 * 86_400_000]

export type OpenGroup = {
  readonly agent: string | null
  readonly origin: string | null
  readonly isWaiting: boolean
  /** Of each of the ages: how many are at least as old. */
  readonly counts: readonly number[]
}

/** All of them, counted by what they can be chosen by. */
export async function countOpen(context: ProjectDb, now: EpochMs) {
  const { db, project, typed } = context
  const counts = openAges.map((age, n) => {
    const isOld = sql`created_at <= ${typed('time', toTimestamp(now - age))}`
    return sql`sum(case when ${age === 0 ? sql`true` : isOld} then 1 else 0 end)
      as ${sql.ref(`n${n}`)}`
  })
  type Row = Pick<OpenGroup, 'agent' | 'origin'> & Record<string, unknown>
  const { rows } = await sql<Row>`
    select assigned_agent_id as agent, origin, waiting_since is not null as waits,
      ${sql.join(counts)}
    from fct_conversation where is_open and project_id = ${project} group by 1, 2, 3`.execute(db)
  return {
    groups: rows.map(({ agent, origin, waits, ...row }): OpenGroup => {
      const isWaiting = Boolean(waits)
      return { agent, origin, isWaiting, counts: openAges.map((_, n) => Number(row[`n${n}`])) }
    }),
    isKnown: await isDerived(context),
  }
}

/** By the ids of agents: the names that more than half of their conversations end with. */
export async function readAgentsById({ db, project }: ProjectDb) {
  const { rows } = await sql<{ id: string; name: string }>`
    select agent_id as id, likely_name as name from dim_agent
    where project_id = ${project} and name_share > 0.5`.execute(db)
  return new Map(rows.map(({ id, name }) => [id, name]))
}
