/** Brings a database to this version's schema, in order, each migration in one transaction with the note that it ran. */
import { type Kysely, sql } from 'kysely'
import { type Migration, migrations } from '../../../schema/migrations/migrations.ts'
import { type DatabaseKind, declared } from '../../../schema/portable.ts'
import { UserError } from '../../core/user-error.ts'
import { writeComments } from './comments.ts'
import type { Db } from './session.ts'
import { UnusedWarehouse } from './unused.ts'

/** `from`: null = the database was empty. */
export type Migrated = { readonly from: string | null; readonly to: string; readonly applied: readonly string[] }

/** Throws UserError where the database is of a newer version. Two processes at once: the second finds it done. */
export async function migrate(db: Db, kind: DatabaseKind, list = migrations): Promise<Migrated> {
  return db.transaction().execute(async (trx) => {
    if (kind === 'postgres') await sql`select pg_advisory_xact_lock(hashtext('deskmirror.migrate'))`.execute(trx)
    await createLedger(trx, kind)
    const done = await readLedger(trx)
    refuseNewer(done, list)
    const missing = Object.entries(list).filter(([name]) => !done.includes(name))
    for (const [name, migration] of missing) await apply(trx, kind, name, migration)
    if (missing.length > 0 && list === migrations) await writeComments(trx, kind)
    return { from: done.at(-1) ?? null, to: Object.keys(list).at(-1) ?? '', applied: missing.map(([name]) => name) }
  })
}

/** For a process that only reads: throws UserError unless the schema is this version's. */
export async function requireSchema(db: Db, kind: DatabaseKind, list = migrations): Promise<void> {
  const done = (await hasLedger(db, kind)) ? await readLedger(db) : []
  refuseNewer(done, list)
  if (done.length === Object.keys(list).length) return
  if (done.length === 0) throw new UnusedWarehouse()
  throw new UserError({
    what: 'cannot read the warehouse',
    why: `its schema is of an older version (${done.at(-1)})`,
    next: 'run `deskmirror migrate`',
    exitCode: 2,
  })
}

function refuseNewer(done: readonly string[], list: Readonly<Record<string, Migration>>): void {
  const unknown = done.find((name) => !(name in list))
  if (unknown === undefined) return
  throw new UserError({
    what: 'cannot use the warehouse',
    why: `it was written by a newer version of deskmirror (its schema has ${unknown})`,
    next: 'install that version or a later one: an older one would damage what it does not know',
    exitCode: 2,
  })
}

async function createLedger(trx: Db, kind: DatabaseKind): Promise<void> {
  const { text, time } = declared[kind]
  await sql`create table if not exists sync_schema
    (name ${sql.raw(text)} primary key, applied_at ${sql.raw(time)} not null default ${sql.raw(currentTime(kind))})`.execute(
    trx,
  )
}

function currentTime(kind: DatabaseKind): string {
  return kind === 'sqlite' ? "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" : 'now()'
}

async function hasLedger(db: Db, kind: DatabaseKind): Promise<boolean> {
  const { rows } = await (kind === 'sqlite'
    ? sql`select 1 from sqlite_master where name = 'sync_schema'`
    : sql`select 1 where to_regclass('sync_schema') is not null`
  ).execute(db)
  return rows.length > 0
}

async function readLedger(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sync_schema order by name`.execute(db)
  return rows.map(({ name }) => name)
}

async function apply(trx: Db, kind: DatabaseKind, name: string, migration: Migration): Promise<void> {
  await migration(trx as unknown as Kysely<unknown>, kind)
  await sql`insert into sync_schema (name) values (${name})`.execute(trx)
}
