/** Whether a warehouse can be made or written where an address says, without doing either. */
import { constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import { openKysely } from './connection-pool.ts'
import { isAllowed } from './error-tables.ts'
import { explainOpenError } from './explain-error.ts'
import { parseDatabaseUrl } from './location.ts'
import { openDatabase, type WarehouseOptions } from './open-database.ts'

/** Throws UserError: what a sync would end with. */
export async function requireWritable(
  url: string,
  options: Pick<WarehouseOptions, 'setting' | 'projects'>,
): Promise<void> {
  const location = parseDatabaseUrl(url, options.setting)
  const refuse = (code: string) => {
    throw explainOpenError(location, Object.assign(new Error(code), { code }))
  }
  if (location.kind === 'sqlite') {
    const folder = dirname(resolve(location.path))
    const needed = existsSync(location.path) ? [folder, location.path] : [folder]
    if (!needed.every((path) => isAllowed(path, constants.W_OK))) refuse('SQLITE_READONLY')
    return
  }
  await openDatabase(url, options, async (pool) => {
    try {
      const { rows } = await sql<{ mayWrite: boolean | null; isReadOnly: boolean }>`
        select current_setting('transaction_read_only') = 'on' as "isReadOnly",
          coalesce(has_table_privilege(to_regclass('conversations'), 'insert'),
            has_schema_privilege(current_schema(), 'create')) as "mayWrite"`.execute(
        openKysely(pool),
      )
      const [found] = rows
      if (found?.isReadOnly) refuse('25006')
      if (found?.mayWrite !== true) refuse('42501')
    } finally {
      await pool.close()
    }
  })
}
