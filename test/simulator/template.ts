/**
 * The warehouse that every schedule begins with: without rows, but with the columns that the
 * sandbox's fields become.
 */
import { copyFileSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { openWarehouse } from '../../src/app/open.ts'
import { addTriggers } from './observer.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { runQuietSync } from './world.ts'

export async function makeTemplate(path: string): Promise<void> {
  await (await openWarehouse(`sqlite:${path}.empty`)).close()
  prepareForSchedules(`${path}.empty`)
  const database = createSimulatedDatabase(`${path}.empty`, `${path}.filled`)
  await runQuietSync(database)
  database.empty()
  database.observing().pragma('wal_checkpoint(truncate)')
  copyFileSync(`${path}.filled`, path)
  await database.close()
  rmSync(`${path}.empty`)
}

/**
 * Triggers keep logs from being deleted, but every schedule begins with empty ones. Opening asks
 * that they are there.
 */
function prepareForSchedules(path: string): void {
  const database = new Database(path)
  const guards = database
    .prepare<[], { readonly name: string; readonly tbl_name: string }>(
      `select name, tbl_name from sqlite_master where type = 'trigger' and sql like '%before delete%'`,
    )
    .all()
  for (const { name, tbl_name: table } of guards)
    database.exec(`drop trigger "${name}";
      create trigger "${name}" before delete on "${table}" when false begin select 1; end`)
  addTriggers(database)
  database.close()
}
