/** Migrates a database to this version's schema, and says which version's schema it has. */
import { sql } from 'kysely'
import { columnTypes, type DatabaseKind } from '../../schema/column-types.ts'
import { runOn } from '../../schema/create-missing.ts'
import {
  applyMigrations,
  type Migrations,
  migrations,
  namesOf,
} from '../../schema/migrations/migrations.ts'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { UserError } from '../values/user-error.ts'
import type { Db } from './connection-pool.ts'
import { acquireLock } from './dialect.ts'
import { inspectSchema } from './mixed-schema.ts'
import { retryOnDeadlock } from './transactions.ts'

/** `from`: null = the database was empty. */
export type MigrationSummary = {
  readonly from: string | null
  readonly to: string
  readonly applied: readonly string[]
}

/**
 * Throws UserError if a newer version has written to the database. Two processes may run it at
 * once. `updateViews`: in the same transaction, even if nothing else changes.
 */
export function migrate(
  db: Db,
  kind: DatabaseKind,
  updateViews: (trx: Db) => Promise<void>,
  all: Migrations = migrations,
) {
  const migrateOnce = async (trx: Db) => {
    await acquireLock(trx, kind, 'deskmirror.migrate')
    await createMigrationTable(trx, kind)
    const before = await readAppliedMigrations(trx)
    rejectNewerSchema(before, all)
    const { mixed, isFenced } = await inspectSchema(
      runOn(trx),
      kind,
      before,
      isCurrent(before, all),
    )
    if (mixed !== null) throw mixed
    const applied = await applyMigrations(runOn(trx), kind, all, before)
    for (const name of applied)
      await sql`insert into sync_schema (name) values (${name})`.execute(trx)
    if (applied.length > 0 && kind === 'postgres') await writeTableComments(trx)
    await updateViews(trx)
    const summary = { from: before.at(-1) ?? null, to: namesOf(all).at(-1) ?? '', applied }
    return { summary, isFenced }
  }
  if (kind === 'sqlite') return db.transaction().execute(migrateOnce)
  // A query that reads several views may lock them in another order than they are replaced.
  return retryOnDeadlock(() => db.transaction().execute(migrateOnce))
}

async function createMigrationTable(trx: Db, kind: DatabaseKind): Promise<void> {
  const now = kind === 'sqlite' ? "(strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" : 'now()'
  const text = columnTypes.text[kind]
  const time = columnTypes.time[kind]
  await runOn(trx)(
    `create table if not exists sync_schema (name ${text} primary key, applied_at ${time} not null
      default ${now})`,
  )
}

async function writeTableComments(trx: Db): Promise<void> {
  const objects = Object.entries<TableSpec>(tables).map(([name, { note, columns, storedIn }]) => ({
    type: storedIn === undefined ? ('table' as const) : ('view' as const),
    name,
    note,
    columns: Object.fromEntries(
      Object.entries(columns).map(([column, [, text]]) => [column, text]),
    ),
  }))
  await writeComments(trx, objects)
}

/**
 * For BI tools; SQLite has none. One statement, as hundreds take far longer. `columns`: the note of
 * each.
 */
export async function writeComments(
  db: Db,
  objects: readonly {
    readonly type: 'table' | 'view'
    readonly name: string
    readonly note: string
    readonly columns: Readonly<Record<string, string>>
  }[],
): Promise<void> {
  const comments = objects.flatMap(({ type, name, note, columns }) => [
    sql`comment on ${sql.raw(type)} ${sql.table(name)} is ${sql.lit(note)};`,
    ...Object.entries(columns).map(
      ([column, text]) =>
        sql`comment on column ${sql.ref(`${name}.${column}`)} is ${sql.lit(text)};`,
    ),
  ])
  await sql`do $comments$ begin ${sql.join(comments, sql` `)} end $comments$`.execute(db)
}

/** Nothing has been mirrored: an error for a reader, and none for a first sync. */
export class EmptyWarehouseError extends UserError {
  constructor() {
    super({
      what: 'cannot read the warehouse',
      why: 'nothing has been mirrored into it yet',
      next: 'run `deskmirror sync` first',
    })
    this.name = 'EmptyWarehouseError'
  }
}

/** For a process that only reads: throws UserError unless the schema is this version's. */
export async function requireCurrentSchema(
  db: Db,
  kind: DatabaseKind,
  all: Migrations = migrations,
): Promise<{ readonly isFenced: boolean }> {
  const readApplied = async () => {
    const found = await runOn(db)(
      kind === 'sqlite'
        ? `select 1 from sqlite_master where name = 'sync_schema'`
        : `select 1 where to_regclass('sync_schema') is not null`,
    )
    return found.length === 0 ? [] : readAppliedMigrations(db)
  }
  const applied = await readApplied()
  rejectNewerSchema(applied, all)
  const { mixed, isFenced } = await inspectSchema(runOn(db), kind, applied, isCurrent(applied, all))
  // Another process may have migrated it in between.
  if (mixed !== null && (await readApplied()).length !== applied.length)
    return requireCurrentSchema(db, kind, all)
  if (mixed !== null) throw mixed
  if (applied.length === 0) throw new EmptyWarehouseError()
  if (isCurrent(applied, all)) return { isFenced }
  throw new UserError({
    what: 'cannot read the warehouse',
    why: `its schema is from an older version (${applied.at(-1)})`,
    next: 'run `deskmirror migrate`',
  })
}

async function readAppliedMigrations(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sync_schema order by name`.execute(
    db,
  )
  return rows.map(({ name }) => name)
}

const isCurrent = (applied: readonly string[], all: Migrations) =>
  applied.length === namesOf(all).length

/** Throws UserError if a newer version has written to the database. */
function rejectNewerSchema(applied: readonly string[], all: Migrations): void {
  const unknown = applied.find((name) => !Object.hasOwn(all, name))
  if (unknown === undefined) return
  throw new UserError({
    what: 'cannot use the warehouse',
    why: `it was written by a newer version of deskmirror (its schema has ${unknown})`,
    next: 'install that version or a later one: an older one could damage the data',
  })
}
