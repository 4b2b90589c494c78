/**
 * A SQLite warehouse without rows, with the columns that the fields of the sandbox's rows become.
 * SQLite takes milliseconds to add a column, as it parses every view anew, and the first sync of a
 * warehouse adds forty.
 */
import { copyFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { makeOnce } from './make-once.ts'
import { sourceVersion, sqliteTemplate } from './warehouse-templates.ts'

const size = {
  conversations: 30,
  visitors: 20,
  calls: 20,
  messagesPerConversation: [1, 4],
  days: 3,
} as const

/** The path of a warehouse to be copied, where the fields are those of another project. */
export function sqliteTemplateForSandbox(): Promise<string> {
  return makeOnce(`${sourceVersion()}-sandbox.db`, async (path) => {
    const withoutColumns = await sqliteTemplate()
    copyFileSync(withoutColumns, path)
    const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
    await syncOnce(`sqlite:${path}`, sandbox).finally(sandbox.stop)
    restoreRows(path, withoutColumns)
  })
}

/** As in the other file, except for what is known about fields. */
function restoreRows(path: string, from: string): void {
  const database = new Sqlite(path)
  database.prepare('attach ? as original').run(from)
  const list = (where: string) =>
    database
      .prepare<[], { name: string; sql: string }>(
        `select name, sql from main.sqlite_master where ${where}`,
      )
      .all()
  const isEmpty = (table: string) =>
    database.prepare(`select 1 from original."${table}"`).get() === undefined
  // Triggers keep some rows from being deleted.
  const triggers = list(`type = 'trigger'`)
  for (const { name } of triggers) database.exec(`drop trigger main."${name}"`)
  // The tables of the index of words follow it.
  for (const { name } of list(
    `type = 'table' and name not in ('discovered_fields', 'sqlite_stat4')`,
  ))
    if (!name.startsWith('search_words_') && isEmpty(name))
      database.exec(`delete from main."${name}"`)
  for (const { sql } of triggers) database.exec(sql)
  database.exec(
    'delete from main.sqlite_stat1; insert into main.sqlite_stat1 select * from original.sqlite_stat1',
  )
  database.exec('detach original')
  database.pragma('wal_checkpoint(truncate)')
  database.close()
}
