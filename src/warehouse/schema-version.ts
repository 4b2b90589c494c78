/** Which version's schema a database has. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { migrationNames } from '../../schema/migrations/migration-names.ts'
import { UserError } from '../values/user-error.ts'
import type { Db } from './connection-pool.ts'

/** Nothing has been mirrored into the warehouse: an error for a reader, and none for a first sync. */
export class EmptyWarehouseError extends UserError {
  constructor() {
    super({
      what: 'cannot read the warehouse',
      why: 'nothing has been mirrored into it yet',
      next: 'run `deskmirror sync` first',
      exitCode: 2,
    })
    this.name = 'EmptyWarehouseError'
  }
}

/** For a process that only reads: throws UserError unless the schema is this version's. */
export async function requireCurrentSchema(db: Db, kind: DatabaseKind): Promise<void> {
  const applied = (await hasMigrationTable(db, kind)) ? await readAppliedMigrations(db) : []
  rejectNewerSchema(applied, migrationNames)
  if (applied.length === migrationNames.length) return
  if (applied.length === 0) throw new EmptyWarehouseError()
  throw new UserError({
    what: 'cannot read the warehouse',
    why: `its schema is from an older version (${applied.at(-1)})`,
    next: 'run `deskmirror migrate`',
    exitCode: 2,
  })
}

/** Throws UserError if a newer version has written to the database. */
export function rejectNewerSchema(applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new UserError({
    what: 'cannot use the warehouse',
    why: `it was written by a newer version of deskmirror (its schema has ${unknown})`,
    next: 'install that version or a later one: an older one could damage the data',
    exitCode: 2,
  })
}

async function hasMigrationTable(db: Db, kind: DatabaseKind): Promise<boolean> {
  const { rows } = await (kind === 'sqlite'
    ? sql`select 1 from sqlite_master where name = 'sync_schema'`
    : sql`select 1 where to_regclass('sync_schema') is not null`
  ).execute(db)
  return rows.length > 0
}

/** Their names, in order. */
export async function readAppliedMigrations(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sync_schema order by name`.execute(db)
  return rows.map(({ name }) => name)
}
