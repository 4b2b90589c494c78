/** Lets a role of Postgres read the objects for analysts. Rights and not a schema: names stay the same as in SQLite. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { UserError } from '../../values/user-error.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import type { GrantReport } from '../core/reports.ts'
import { analystObjectNames } from '../views/layer.ts'

/** New objects of a later version need another grant. Rights that the role has already are left as they are. */
export async function grantToAnalyst(db: Db, kind: DatabaseKind, role: string): Promise<GrantReport> {
  if (kind === 'sqlite') throw rolesMissingError(role)
  return db.transaction().execute(async (trx) => {
    // Another process may be replacing the views.
    await sql`select pg_advisory_xact_lock(hashtext('deskmirror.migrate'))`.execute(trx)
    if (!(await roleExists(trx, role))) throw unknownRoleError(role)
    await grantSchemaUsage(trx, role)
    const objects = analystObjectNames.map((name) => sql.id(name))
    await sql`grant select on ${sql.join(objects)} to ${sql.id(role)}`.execute(trx)
    return { role, granted: analystObjectNames, otherReadable: await listOtherReadable(trx, role) }
  })
}

/**
 * Exact: Postgres would cut a long name to 63 bytes, and take `"public"` for everybody although it is quoted. No role can
 * have that name.
 */
async function roleExists(trx: Db, role: string): Promise<boolean> {
  if (role.includes('\0')) return false
  const { rows } = await sql`select 1 from pg_roles where cast(rolname as text) = ${role}`.execute(trx)
  return rows.length > 0
}

async function grantSchemaUsage(trx: Db, role: string): Promise<void> {
  const { rows } = await sql<{ name: string; may_use: boolean }>`
    select current_schema() as name, has_schema_privilege(cast(${role} as name), current_schema(), 'usage') as may_use
  `.execute(trx)
  const [schema] = rows
  if (schema === undefined || schema.may_use) return
  await sql`grant usage on schema ${sql.id(schema.name)} to ${sql.id(role)}`.execute(trx)
}

/** What else the role can read: by default privileges, as a member of another role, or because it owns it. */
async function listOtherReadable(trx: Db, role: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
    where c.relkind in ('r', 'v', 'm', 'f', 'p') and has_any_column_privilege(cast(${role} as name), c.oid, 'select')
    order by c.relname
  `.execute(trx)
  const granted = new Set<string>(analystObjectNames)
  return rows.map(({ name }) => name).filter((name) => !granted.has(name))
}

function rolesMissingError(role: string): UserError {
  return new UserError({
    what: `cannot grant anything to ${role}`,
    why: 'SQLite has no roles: whoever can read the file can read all of it',
    next: "give analysts a file that holds only what is for them: `deskmirror export 'dim_*' 'fct_*' 'report_*' --output layer.db`",
    exitCode: 2,
  })
}

function unknownRoleError(role: string): UserError {
  return new UserError({
    what: `cannot grant anything to ${role}`,
    why: 'the database has no role of exactly this name',
    next: "create it (create role analyst login password '…'), or name another",
    exitCode: 2,
  })
}
