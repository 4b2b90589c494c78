/**
 * Messages move into the table `message_rows`, whose `raw` no longer repeats what the columns tell, and `messages` becomes a
 * view that has it all.
 */
import type { DatabaseKind } from '../column-types.ts'
import type { Run } from '../create-missing.ts'
import { createMessagesView } from '../messages-view.ts'

export async function moveMessages(run: Run, kind: DatabaseKind): Promise<void> {
  await (kind === 'sqlite' ? moveInSqlite(run) : moveInPostgres(run))
}

/** Views and triggers of users name `messages`, and are to read the view. Otherwise they would be changed to name the table. */
async function moveInSqlite(run: Run): Promise<void> {
  await run('pragma legacy_alter_table = on')
  await run('alter table messages rename to message_rows')
  await run('pragma legacy_alter_table = off')
  await createMessagesView(run, 'sqlite')
}

async function moveInPostgres(run: Run): Promise<void> {
  const views = await run(viewsOfMessages)
  const grants = await run(grantsOnMessages)
  await run('alter table messages rename to message_rows')
  await run('alter table message_rows alter column raw drop not null')
  await createMessagesView(run, 'postgres')
  for (const { privilege, columns, grantee, option } of grants)
    await run(`grant ${privilege}${columns} on messages to ${grantee} ${option}`)
  for (const { name, options, definition } of views)
    await run(`create or replace view ${name} ${options} as ${definition}`)
}

/**
 * Views that read the table would go on to read it. Their columns stay, so they can be replaced by themselves, unless they are
 * materialized, or belong to another role.
 */
const viewsOfMessages = `
  select distinct v.oid::regclass::text as name, pg_get_viewdef(v.oid) as definition,
    coalesce('with (' || array_to_string(v.reloptions, ', ') || ')', '') as options
  from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
  where d.classid = 'pg_rewrite'::regclass and d.refobjid = 'messages'::regclass
    and v.relkind = 'v' and pg_has_role(v.relowner, 'usage')`

/** `columns`: ` (content)` for a right on one column; empty for one on all. */
const grantsOnMessages = `
  select privilege_type as privilege, columns, case when is_grantable then 'with grant option' else '' end as option,
    case grantee when 0 then 'public' else grantee::regrole::text end as grantee
  from pg_class c, lateral (
    select '' as columns, relacl as acl
    union all select format(' (%I)', attname), attacl from pg_attribute where attrelid = c.oid and not attisdropped
  ) of_column, aclexplode(acl) where oid = 'messages'::regclass and grantee <> relowner
    and privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`
