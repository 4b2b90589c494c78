/** Migrates a database to this version's schema. Each migration is recorded in the same transaction. */
import { type Kysely, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../../schema/column-types.ts'
import { type Migration, migrations } from '../../schema/migrations/migrations.ts'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { explainDependentView, updateAnalyticsViews } from '../analytics/sql/views.ts'
import { writeComments } from './comments.ts'
import type { Db } from './connection-pool.ts'
import { acquireLock } from './dialect.ts'
import { retryOnDeadlock } from './durable-transaction.ts'
import { readAppliedMigrations, rejectNewerSchema } from './schema-version.ts'

/** `from`: null = the database was empty. */
export type MigrationSummary = {
  readonly from: string | null
  readonly to: string
  readonly applied: readonly string[]
}

type Migrations = Readonly<Record<string, Migration>>

/** Throws UserError if a newer version has written to the database. Two processes may run it at once. */
export async function migrate(db: Db, kind: DatabaseKind, list: Migrations = migrations): Promise<MigrationSummary> {
  const migrateOnce = async (trx: Db) => {
    await acquireLock(trx, kind, 'deskmirror.migrate')
    await createMigrationTable(trx, kind)
    const applied = await readAppliedMigrations(trx)
    rejectNewerSchema(applied, Object.keys(list))
    const missing = Object.entries(list).filter(([name]) => !applied.includes(name))
    for (const [name, migration] of missing) await applyMigration(trx, kind, name, migration)
    if (missing.length > 0 && list === migrations) await writeTableComments(trx, kind)
    if (list === migrations) await updateAnalyticsViews(trx, kind)
    return { from: applied.at(-1) ?? null, to: Object.keys(list).at(-1) ?? '', applied: missing.map(([name]) => name) }
  }
  // A query that reads several views may lock them in another order than they are replaced.
  return retryOnDeadlock(() => db.transaction().execute(migrateOnce)).catch((error: unknown) => {
    throw explainDependentView(error)
  })
}

async function createMigrationTable(trx: Db, kind: DatabaseKind): Promise<void> {
  const { text, time } = sqlTypes[kind]
  await sql`create table if not exists sync_schema
    (name ${sql.raw(text)} primary key, applied_at ${sql.raw(time)} not null default ${sql.raw(currentTimeSql(kind))})`.execute(
    trx,
  )
}

function currentTimeSql(kind: DatabaseKind): string {
  return kind === 'sqlite' ? "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" : 'now()'
}

async function applyMigration(trx: Db, kind: DatabaseKind, name: string, migration: Migration): Promise<void> {
  await migration(trx as unknown as Kysely<unknown>, kind)
  await sql`insert into sync_schema (name) values (${name})`.execute(trx)
}

/** SQLite has no comments. */
async function writeTableComments(trx: Db, kind: DatabaseKind): Promise<void> {
  if (kind === 'sqlite') return
  const objects = Object.entries<TableSpec>(tables).map(([name, { note, columns, storedIn }]) => ({
    type: storedIn === undefined ? ('table' as const) : ('view' as const),
    name,
    note,
    columns: Object.fromEntries(Object.entries(columns).map(([column, [, text]]) => [column, text])),
  }))
  await writeComments(trx, objects)
}
