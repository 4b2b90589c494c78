/** Who waits for an answer, and one conversation with its thread. */
import { sql } from 'kysely'
import { isDerived } from '../../analytics/sql/facts-state.ts'
import {
  countOnlyService,
  describeDifference,
  waitingCounted,
  waitingNow,
} from '../../analytics/sql/waiting.ts'
import { type EpochMs, type Ms, parseTime, rfc3339, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowsPerPage, toPage } from '../core/list-page.ts'

type WaitingFilter = {
  /** Who waits for at least that long. */
  readonly minAgeMs: Ms
  readonly isUnassigned: boolean
  /** The `next` of the page before. */
  readonly after: string | null
}

/** `sinceByService`: null = it does not wait by the service's own field. */
type WaitingRow = Record<'id' | 'since', string> &
  Record<'name' | 'email' | 'lastWords' | 'agent' | 'sinceByService', string | null>

/** The longest first. `next`: where the following page begins; null = there is none. */
export async function readWaiting(context: ProjectDb, filter: WaitingFilter, now: EpochMs) {
  const { db, project, typed } = context
  const [, since = '', id = ''] = /^(\S+) (.+)$/s.exec(filter.after ?? '') ?? []
  // From an address, so perhaps a day that no calendar has, which Postgres refuses.
  const sinceSeconds = parseTime(since) ?? -1
  const start =
    sinceSeconds < 0
      ? sql`true`
      : sql`(waiting_since, conversation_id) > (${typed('time', rfc3339(sinceSeconds))}, ${id})`
  const listed = sql<WaitingRow>`
    select found.id, found.since, visitors.name, visitors.email, found.agent,
    found."sinceByService",
      (select content from messages where project_id = ${project} and conversation_id = found.id
      and kind = 'utterance'
        and deleted_at is null order by id desc limit 1) as "lastWords"
    from (select conversation_id as id, waiting_since as since, visitor_id, assigned_agent_id
    as agent,
        service_waiting_since as "sinceByService" from ${waitingNow} and project_id = ${project}
        and ${waitsFor(filter.minAgeMs, context, now)} and ${start}
        and ${filter.isUnassigned ? sql`assigned_agent_id is null` : sql`true`}
      order by waiting_since, conversation_id limit ${rowsPerPage + 1}) as found
      left join visitors on visitors.project_id = ${project} and visitors.id = found.visitor_id
    order by found.since, found.id`.execute(db)
  const [{ rows }, more, buckets, isKnown] = await Promise.all([
    listed,
    countOnlyService(project).execute(db),
    countByAge(context, now),
    isDerived(context),
  ])
  const page = toPage(rows, rowsPerPage, ({ since, id }) => `${since} ${id}`)
  const otherwise = page.rows.filter((row) => row.sinceByService !== row.since).length
  return {
    ...page,
    buckets,
    isKnown,
    /** Of the rows of this page, and all that wait by the service alone. */
    difference: describeDifference(
      { otherwise, onlyService: Number(more.rows[0]?.count ?? 0) },
      'the conversations on this page',
    ),
  }
}

const waitingAges: readonly Ms[] = [0, 15 * 60_000, 3_600_000, 86_400_000]

/** All wait for 0, also those whose message the service dates ahead of this machine. */
export function waitsFor(minAgeMs: Ms, { typed }: ProjectDb, now: EpochMs) {
  return minAgeMs === 0
    ? sql`true`
    : sql`waiting_since <= ${typed('time', toTimestamp(now - minAgeMs))}`
}

async function countByAge(context: ProjectDb, now: EpochMs) {
  const { db, project } = context
  const counts = waitingAges.map(
    (age) => sql`sum(case when ${waitsFor(age, context, now)} then 1 else 0 end)`,
  )
  const named = counts.map((count, index) => sql`${count} as ${sql.ref(`n${index}`)}`)
  const { rows } = await sql<Record<string, number | null>>`
    select ${sql.join(named)} from ${waitingCounted} and project_id = ${project}`.execute(db)
  return waitingAges.map((minAgeMs, index) => ({
    minAgeMs,
    count: Number(rows[0]?.[`n${index}`] ?? 0),
  }))
}

const pageMessages = 200
const maxChanges = 100

export type ConversationData = NonNullable<Awaited<ReturnType<typeof readConversation>>>

/**
 * The newest messages, or those before a message of that id, in digits; `older`: where older ones
 * continue, null = these are all. Null: there is no such conversation.
 */
export async function readConversation(context: ProjectDb, id: string, before: string | null) {
  const { db, project } = context
  const { rows } = await sql<
    { readonly id: string; readonly isComplete: boolean | null } & Readonly<
      Record<
        | 'visitorId'
        | 'name'
        | 'email'
        | 'createdAt'
        | 'handledAt'
        | 'waitingSince'
        | 'sinceByService'
        | 'agent'
        | 'origin',
        string | null
      >
    > & { readonly deletedAt: string | null }
  >`
    select c.id, c.visitor_id as "visitorId", visitors.name, visitors.email, c.created_at
    as "createdAt",
      c.handled_at as "handledAt", w.waiting_since as "waitingSince", c.waiting_since
      as "sinceByService",
      c.assigned_agent_id as agent, c.origin, c.messages_complete as "isComplete", c.deleted_at
      as "deletedAt"
    from conversations as c left join visitors on visitors.project_id = ${project}
    and visitors.id = c.visitor_id
      left join fct_conversation as w on w.project_id = ${project} and w.conversation_id = c.id
    where c.project_id = ${project} and c.id = ${id}`.execute(db)
  const [conversation] = rows
  if (conversation === undefined) return null
  const found = await readMessages(context, id, before)
  const newest = toPage(found, pageMessages, (message) => message.id)
  const changes = await sql<
    Record<'field' | 'at', string> & Record<'before' | 'after', string | null>
  >`
    select field, old_value as before, new_value as after, seen_at as at from conversation_changes
    where project_id = ${project} and conversation_id = ${id}
    order by id desc limit ${maxChanges}`.execute(db)
  return {
    ...conversation,
    isComplete: conversation.isComplete === null ? null : Boolean(conversation.isComplete),
    messages: newest.rows.toReversed(),
    isNewest: before === null,
    older: newest.next,
    changes: changes.rows,
  }
}

/** The newest first, and one more than a page has. */
async function readMessages({ db, project }: ProjectDb, id: string, before: string | null) {
  type Row = { id: number } & Record<
    'kind' | 'sender' | 'name' | 'content' | 'at' | 'deleted' | 'known',
    string | null
  >
  const { rows } = await sql<Row>`
    select m.id, m.sender_type as sender, m.kind, m.sender_display_name
    as name, m.content, m.created_at as at,
      m.deleted_at as deleted, t.role as known
    from messages as m left join dim_sender_type as t on t.project_id = ${project}
    and t.sender_type = m.sender_type
    where m.project_id = ${project} and m.conversation_id = ${id}
      and ${before === null ? sql`true` : sql`m.id < ${BigInt(before)}`}
    order by m.id desc limit ${pageMessages + 1}`.execute(db)
  return rows.map(({ deleted, kind, known, ...row }) => {
    const role =
      kind !== 'utterance' ? 'event' : (known ?? row.sender) === 'visitor' ? 'visitor' : 'team'
    return { ...row, id: String(row.id), isDeleted: deleted !== null, role }
  })
}

/** In a list. `words`: the place that a search found. */
export type ConversationRow = {
  readonly id: string
  readonly name: string | null
  readonly lastAt: string | null
  readonly handled: string | null
  readonly words: string | null
}
