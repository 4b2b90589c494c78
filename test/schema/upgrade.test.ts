/** A warehouse of 0.1.0 becomes what a new one is; an older one is refused. */
import { expect, onTestFinished, test } from 'vitest'
import { databases, type TestDatabase } from '../support/databases.ts'
import { openReleased } from '../warehouse/older-warehouse.ts'

const queries = {
  sqlite: [
    `select m.name || '.' || c.name as name, lower(c.type) || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk as is_so
      from sqlite_master m join pragma_table_info(m.name) c where m.type in ('table', 'view')`,
    `select name, sql as is_so from sqlite_master where sql is not null and type in ('index', 'trigger')`,
  ],
  postgres: [
    `select table_name || '.' || column_name as name, concat_ws(' ', data_type, is_nullable, collation_name, column_default) as is_so
      from information_schema.columns where table_schema = current_schema()`,
    `select indexname as name, indexdef as is_so from pg_indexes where schemaname = current_schema()`,
    `select tgrelid::regclass || '.' || tgname as name, concat(tgenabled, pg_get_triggerdef(t.oid)) as is_so from pg_trigger t
      join pg_class c on c.oid = tgrelid where relnamespace = current_schema()::regnamespace and not tgisinternal`,
    `select proname as name, concat(pg_get_functiondef(oid), proacl) as is_so from pg_proc
      where pronamespace = current_schema()::regnamespace`,
  ],
}

/** Rows of 0.1.0 stay in its form until they are rewritten, in columns as they were; its key has another name. */
const different = /^message_rows\.(raw|run_id)$|^(messages|message_rows)_pkey$/

type Open = Awaited<ReturnType<TestDatabase['makeEmpty']>>

async function schemaOf({ kind, open }: Open): Promise<Readonly<Record<string, string>>> {
  const warehouse = await open()
  const found = await Promise.all(queries[kind].map((text) => warehouse.query(text)))
  const plain = (text: unknown) => String(text).replaceAll('"message_rows"', 'message_rows').replace(/\s+/g, ' ')
  return Object.fromEntries(
    found
      .flat()
      .map(({ name, is_so }): [string, string] => [String(name), plain(is_so)])
      .filter(([name]) => !different.test(name))
      .sort(),
  )
}

test.for(databases)('an upgraded warehouse of 0.1.0 has the schema of a new one — $name', async (db) => {
  const fresh = await db.makeEmpty()
  onTestFinished(fresh.drop)
  const { database, close } = await openReleased(db)
  await close()
  const expected = await schemaOf(fresh)
  expect(Object.keys(expected).length).toBeGreaterThan(400)
  expect(await schemaOf(database)).toEqual(expected)
})

test.for(databases)('a warehouse of a version before 0.1.0 is refused and left as it is — $name', async (db) => {
  const { database, query, close } = await openReleased(db)
  await query("delete from sync_schema where name = '0011_failures'")
  await expect(database.open()).rejects.toMatchObject({
    why: 'its schema is from a version before 0.1.0 (0008_question_indexes)',
    exitCode: 2,
  })
  expect(await query('select name from sync_schema')).toHaveLength(8)
  await close()
})
