/**
 * One visitor: what the mirror has, conversations, calls, visits and activity, and what it shows of
 * the write-backs to this person.
 */
import { sql } from 'kysely'
import type { NamedEntry } from '../../outbox/outbox.ts'
import type { Seconds } from '../../values/time.ts'
import { rowsParameter } from '../../warehouse/dialect.ts'
import { encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { placeIn, rowsPerPage, toPage } from '../core/list-page.ts'

export type VisitorList = 'conversations' | 'calls' | 'visits' | 'activity'

/** `list`: the one that begins behind so many rows; the others begin with their first. */
export type ListPlace = Readonly<Record<'list' | 'after', string | null>>

const firstPages: ListPlace = { list: null, after: null }

/** Where this list begins. */
export function beginOf(name: VisitorList, { list, after }: ListPlace): number {
  return name === list ? placeIn(after) : 0
}

/** `rows`: from where the list begins. */
export function pageOf<Row>(name: VisitorList, rows: readonly Row[], place: ListPlace) {
  return toPage(rows, rowsPerPage, () => beginOf(name, place) + rowsPerPage)
}

type Text = string | null

const noVisitor = { name: null, email: null, deletedAt: null, syncedAt: null, raw: '{}' }

export type VisitorData = NonNullable<Awaited<ReturnType<typeof readVisitor>>>

/**
 * `row` null: the mirror does not have it, although a conversation names it. `conversations`,
 * `visits` and `activity`: one more than a page has says that others follow.
 */
export async function readVisitor(
  { db, project }: ProjectDb,
  id: string,
  place: ListPlace = firstPages,
) {
  const page = (name: VisitorList) => sql`limit ${rowsPerPage + 1} offset ${beginOf(name, place)}`
  const { rows } = await sql<
    { raw: string } & Record<'name' | 'email' | 'deletedAt' | 'syncedAt', Text>
  >`
    select name, email, deleted_at as "deletedAt", synced_at as "syncedAt", raw from visitors
    where project_id = ${project} and id = ${id}`.execute(db)
  const { rows: all } = await sql<{ id: string }>`
    select id from conversations where project_id = ${project} and visitor_id = ${id}`.execute(db)
  const conversations = await sql<
    { id: string } & Record<'lastAt' | 'handled' | 'deletedAt' | 'waitingSince' | 'agent', Text>
  >`
    select c.id, c.last_message_at as "lastAt", c.handled_at as handled, c.deleted_at as "deletedAt",
      f.waiting_since as "waitingSince", f.last_human_name as agent
    from conversations c
      left join fct_conversation f on f.project_id = ${project} and f.conversation_id = c.id
    where c.project_id = ${project} and c.visitor_id = ${id}
    order by c.last_message_at is null, c.last_message_at desc, c.id
    ${page('conversations')}`.execute(db)
  const visits = await sql<
    Record<'seconds' | 'entries', number> & { startedAt: string } & Record<
        'firstPage' | 'lastPage',
        Text
      >
  >`
    select started_at as "startedAt", seconds, entries, first_page as "firstPage",
      last_page as "lastPage"
    from fct_visit where project_id = ${project} and visitor_id = ${id}
    order by visit_number desc ${page('visits')}`.execute(db)
  const activity = await sql<{ at: Text; raw: string }>`
    select occurred_at as at, raw from visitor_activity
    where project_id = ${project} and visitor_id = ${id} and deleted_at is null
    order by occurred_at desc, entry_hash, ordinal ${page('activity')}`.execute(db)
  const { name, email, deletedAt, syncedAt, raw } = rows[0] ?? noVisitor
  return {
    id,
    row: syncedAt === null ? null : { name, email, deletedAt, syncedAt },
    fields: fieldsOf(raw).filter(
      ({ name }) => !['id', 'name', 'email', 'projectId'].includes(name),
    ),
    conversationIds: all.map((one) => one.id),
    conversations: conversations.rows,
    visits: visits.rows,
    activity: activity.rows.map((entry) => {
      const fields = fieldsOf(entry.raw).filter(({ value }) => value !== entry.at)
      const text = fields.map(({ name, value }) => `${name}: ${value}`).join(' · ')
      return { at: entry.at, text }
    }),
  }
}

const maxFields = 60

/** The row as the service sent it. */
function fieldsOf(raw: string): { name: string; value: string }[] {
  const fields = Object.entries((JSON.parse(raw) ?? {}) as Record<string, unknown>).filter(
    ([, value]) => value !== null,
  )
  return fields.slice(0, maxFields).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return { name, value: text.slice(0, 500) }
  })
}

export async function readVisitorOf({ db, project }: ProjectDb, conversation: string) {
  const { rows } = await sql<{ visitor: Text }>`
    select visitor_id as visitor from conversations
    where project_id = ${project} and id = ${conversation}`.execute(db)
  return rows[0]?.visitor ?? null
}

export type VisitorCall = { readonly id: string } & Readonly<
  Record<'startedAt' | 'direction' | 'outcome' | 'agent', Text>
> & { readonly seconds: Seconds | null }

/** Of all days. Reads all calls: the service documents no field of theirs, so none has an index. */
export async function readVisitorCalls({ db, project }: ProjectDb, id: string) {
  const { rows } = await sql<VisitorCall>`
    select call_id as id, started_at as "startedAt", direction, outcome, agent, seconds
    from fct_call where project_id = ${project} and visitor_id = ${id}
    order by started_at is null, started_at desc, call_id`.execute(db)
  return rows
}

/** What the mirror has of a write-back's effect. */
export type ShownEffect = {
  readonly handled: Text
  /** Of the message that a reply has become: when; null = it is not mirrored. */
  readonly at: Text
  readonly isDeleted: boolean
  /** How often the team's messages in the conversation have the words of the reply. */
  readonly times: number
}

type Sent = Pick<NamedEntry, 'id' | 'conversationId' | 'messageId' | 'payload'>

export async function readShownEffects(
  { db, kind, project }: ProjectDb,
  entries: readonly Sent[],
): Promise<ReadonlyMap<string, ShownEffect>> {
  const onConversations = entries.filter(({ conversationId }) => conversationId !== null)
  if (onConversations.length === 0) return new Map()
  const stored = (text: unknown) => (typeof text === 'string' ? encodeText(kind, text) : null)
  const sent = onConversations.map(({ id, conversationId, messageId, payload }) => ({
    id,
    conversation: conversationId,
    message: messageId,
    words: stored(payload?.content),
    // The service may trim them.
    trimmed: stored(`${payload?.content ?? ''}`.trim() || null),
  }))
  const columns = {
    id: 'text',
    conversation: 'text',
    message: 'text',
    words: 'text',
    trimmed: 'text',
  } as const
  const { rows } = await sql<
    Pick<ShownEffect, 'handled' | 'at' | 'times'> & { id: string; deleted: Text }
  >`
    select sent.id, max(c.handled_at) as handled,
      max(case when cast(m.id as text) = sent.message then m.created_at end) as at,
      max(case when cast(m.id as text) = sent.message then m.deleted_at end) as deleted,
      count(case when m.content in (sent.words, sent.trimmed) and m.deleted_at is null then 1 end)
      as times
    from ${rowsParameter(kind, columns, sent)} as sent
      left join conversations c on c.project_id = ${project}
        and c.id in (sent.conversation, lower(sent.conversation))
      left join messages m on m.project_id = ${project}
        and m.conversation_id in (sent.conversation, lower(sent.conversation))
        and m.kind = 'utterance'
        and coalesce((select role from dim_sender_type t where t.project_id = ${project}
          and t.sender_type = m.sender_type), m.sender_type) <> 'visitor'
    group by sent.id`.execute(db)
  return new Map(
    rows.map(({ id, deleted, times, ...row }) => [
      id,
      { ...row, isDeleted: deleted !== null, times: Number(times) },
    ]),
  )
}
