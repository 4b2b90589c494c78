/**
 * `messages.raw` no longer repeats what the columns hold. Rows that are stored already are rewritten later, in portions; the
 * view shows all messages as they came, both those and the others.
 */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'

/** Fields of a message by their columns; the id is recognised by `raw` itself. */
const fields = {
  conversationId: 'conversation_id',
  senderType: 'sender_type',
  kind: 'kind',
  content: 'content',
  senderDisplayName: 'sender_display_name',
}

/** Fields that are in `raw`, too, count as `raw` has them. */
const selects: Readonly<Record<DatabaseKind, string>> = {
  sqlite: `case when raw -> 'id' is not null then raw else '{"id":' || id || ${Object.entries({
    ...fields,
    createdAt: 'created_at',
  })
    .map(
      ([field, column]) =>
        `case when ${column} is null or raw -> '${field}' is not null then '' else ',"${field}":' || json_quote(${column}) end`,
    )
    .join(' || ')} || case when raw = '{}' then '}' else ',' || substr(raw, 2) end end`,
  postgres: `case when raw -> 'id' is not null then raw else jsonb_strip_nulls(jsonb_build_object('id', id, ${Object.entries(
    fields,
  )
    .map(([field, column]) => `'${field}', ${column}`)
    .join(', ')}, 'createdAt', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) || raw end`,
}

export async function shortRaw(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const { key, text } = sqlTypes[kind]
  await run(`create table sync_rewrites (name ${key} not null primary key, position ${text} not null)`)
  await run(
    "insert into sync_rewrites (name, position) select 'messages.raw', '' where exists (select 1 from messages)",
  )
  await run(`create view raw_messages as select project_id, conversation_id, id, ${selects[kind]} as raw from messages`)
  if (kind === 'sqlite') return
  await run("comment on view raw_messages is 'The messages as the service sent them.'")
  for (const [column, note] of Object.entries(notes)) await run(`comment on column raw_messages.${column} is '${note}'`)
}

const notes = {
  project_id: 'the project',
  conversation_id: 'the conversation, in conversations',
  id: 'id of the message in the service',
  raw: 'the message as the service sent it',
}
