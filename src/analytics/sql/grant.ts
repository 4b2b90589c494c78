/** Lets a role of Postgres read the objects for analysts, by rights: names stay as in SQLite. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { UserError } from '../../values/user-error.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import { grantedNames } from '../views/all-views.ts'

export type GrantReport = {
  readonly role: string
  /** The objects for analysts. */
  readonly granted: readonly string[]
  /** What else in the schema it can read, by rights that it had before. */
  readonly otherReadable: readonly string[]
}

/** New objects of a later version need another grant. */
export async function grantToAnalyst(
  db: Db,
  kind: DatabaseKind,
  role: string,
): Promise<GrantReport> {
  if (kind === 'sqlite') {
    const next =
      "give analysts a file that holds only what is for them: `deskmirror export 'dim_*' " +
      "'fct_*' 'report_*' --output layer.db`"
    throw cannotGrant(
      role,
      'SQLite has no roles: whoever can read the file can read all of it',
      next,
    )
  }
  return db.transaction().execute(async (trx) => {
    // Another process may be replacing the views.
    await acquireLock(trx, kind, 'deskmirror.migrate')
    if (!(await roleExists(trx, role))) {
      const next = "create it (create role analyst login password '…'), or name another"
      throw cannotGrant(role, 'the database has no role of exactly this name', next)
    }
    const [schema] = (
      await sql<{ name: string; may_use: boolean }>`
        select current_schema() as name, has_schema_privilege(cast(${role}
        as name), current_schema(), 'usage') as may_use
      `.execute(trx)
    ).rows
    if (schema?.may_use === false)
      await sql`grant usage on schema ${sql.id(schema.name)} to ${sql.id(role)}`.execute(trx)
    const objects = grantedNames.map((name) => sql.id(name))
    await sql`grant select on ${sql.join(objects)} to ${sql.id(role)}`.execute(trx)
    return { role, granted: grantedNames, otherReadable: await listOtherReadable(trx, role) }
  })
}

/**
 * Exact: Postgres would cut a long name to 63 bytes, and take `"public"` for everybody although it
 * is quoted.
 */
async function roleExists(trx: Db, role: string): Promise<boolean> {
  if (role.includes('\0')) return false
  const { rows } = await sql`select 1 from pg_roles where cast(rolname as text) = ${role}`.execute(
    trx,
  )
  return rows.length > 0
}

/** By default privileges, as a member of another role, or as its owner. */
async function listOtherReadable(trx: Db, role: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
    where c.relkind in ('r', 'v', 'm', 'f', 'p') and has_any_column_privilege(cast(${role}
    as name), c.oid, 'select')
    order by c.relname
  `.execute(trx)
  const granted = new Set<string>(grantedNames)
  return rows.map(({ name }) => name).filter((name) => !granted.has(name))
}

function cannotGrant(role: string, why: string, next: string): UserError {
  return new UserError({ what: `cannot grant anything to ${role}`, why, next, exitCode: 2 })
}
