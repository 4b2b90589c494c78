/**
 * Messages move into the table `message_rows`, whose `raw` no longer repeats what the columns tell, and `messages` becomes a
 * view that has it all. Rows that are stored already are rewritten later, in batches; the view shows both forms.
 */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../column-types.ts'
import { createMessagesView } from '../messages-view.ts'
import { schemaOf } from './0005_trigger_rights.ts'

export async function messageRows(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const { key, text } = sqlTypes[kind]
  await run(db, `create table sync_rewrites (name ${key} not null primary key, position ${text} not null)`)
  await run(
    db,
    "insert into sync_rewrites (name, position) select 'messages.raw', '' where exists (select 1 from messages)",
  )
  await (kind === 'sqlite' ? moveInSqlite(db) : moveInPostgres(db))
}

async function run<Row>(db: Kysely<unknown>, statement: string): Promise<readonly Row[]> {
  return (await sql.raw<Row>(statement).execute(db)).rows
}

/** Views and triggers of users name `messages`, and are to read the view. Otherwise they would be changed to name the table. */
async function moveInSqlite(db: Kysely<unknown>): Promise<void> {
  await run(db, 'pragma legacy_alter_table = on')
  await run(db, 'alter table messages rename to message_rows')
  await run(db, 'pragma legacy_alter_table = off')
  await createMessagesView(db, 'sqlite')
}

type View = {
  readonly name: string
  readonly options: string | null
  readonly definition: string
  readonly is_replaceable: boolean
}
/** `columns`: ` (content)` for a right on one column; empty for one on all. */
type Grant = {
  readonly privilege: string
  readonly columns: string
  readonly grantee: string
  readonly is_grantable: boolean
}

async function moveInPostgres(db: Kysely<unknown>): Promise<void> {
  const schema = await schemaOf(db)
  const views = await run<View>(db, viewsOfMessages)
  const grants = await run<Grant>(db, grantsOnMessages)
  const [synced] = await run(db, 'select 1 from messages union all (select 1 from sync_runs limit 1) limit 1')
  if (synced !== undefined || views.length > 0) await renameTable(db)
  else await createTable(db)
  await createMessagesView(db, 'postgres')
  await run(db, `revoke all on function ${schema}.messages_written() from public`)
  await run(
    db,
    `create trigger messages_written instead of insert or update on ${schema}.messages
      for each row execute function ${schema}.messages_written()`,
  )
  for (const { privilege, columns, grantee, is_grantable } of grants)
    await run(db, `grant ${privilege}${columns} on messages to ${grantee} ${is_grantable ? 'with grant option' : ''}`)
  for (const { name, options, definition } of views.filter(({ is_replaceable }) => is_replaceable))
    await run(db, `create or replace view ${name} ${options === null ? '' : `with (${options})`} as ${definition}`)
}

/**
 * Views that read the table would go on to read it. Their columns stay, so they can be replaced by themselves, unless they are
 * materialized, or belong to another role.
 */
const viewsOfMessages = `
  select distinct v.oid::regclass::text as name, array_to_string(v.reloptions, ', ') as options, pg_get_viewdef(v.oid) as definition,
    v.relkind = 'v' and pg_has_role(v.relowner, 'usage') as is_replaceable
  from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
  where d.classid = 'pg_rewrite'::regclass and d.refobjid = 'messages'::regclass`

const grantsOnMessages = `
  select privilege_type as privilege, columns, case grantee when 0 then 'public' else grantee::regrole::text end as grantee, is_grantable
  from pg_class c, lateral (
    select '' as columns, relacl as acl
    union all select format(' (%I)', attname), attacl from pg_attribute where attrelid = c.oid and not attisdropped
  ) of_column, aclexplode(acl) where oid = 'messages'::regclass and grantee <> relowner
    and privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`

async function renameTable(db: Kysely<unknown>): Promise<void> {
  await run(db, 'alter table messages rename to message_rows')
  await run(db, 'alter table message_rows alter column raw drop not null')
}

/** Values of eight bytes come first: behind a text they would begin at the next multiple of eight. */
async function createTable(db: Kysely<unknown>): Promise<void> {
  await run(db, 'drop table messages')
  const { key, text, integer, time, json, uuid } = sqlTypes.postgres
  await run(
    db,
    `create table message_rows (id ${integer} not null, asked_at ${integer} not null, synced_at ${time} not null,
      created_at ${time}, deleted_at ${time}, project_id ${key} not null, conversation_id ${key} not null, run_id ${uuid},
      sender_type ${text}, kind ${text}, content ${text}, sender_display_name ${text}, raw ${json},
      constraint messages_pkey primary key (project_id, conversation_id, id))`,
  )
  await run(db, 'create index messages_by_time on message_rows (project_id, created_at)')
  await run(db, 'create index messages_deleted on message_rows (project_id) where deleted_at is not null')
}
