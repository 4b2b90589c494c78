/** Every table of a warehouse is copied, or its description says why not. */
import { expect, test } from 'vitest'
import { searchIndexTable } from '../../schema/console-tables.ts'
import { placeColumns } from '../../schema/moved-tables.ts'
import { tables } from '../../schema/tables.ts'
import { databases } from '../support/databases.ts'

/** Made when a database is migrated. */
const ofSchema = ['sync_schema', 'sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4']

for (const { name, make } of databases)
  test(`no table of the database is forgotten — ${name}`, async () => {
    const instance = await make()
    const warehouse = await instance.open()
    const rows = await warehouse.query(
      name === 'sqlite'
        ? `select name from sqlite_master where type = 'table'`
        : `select relname as name from pg_class where relkind in ('r', 'p')
            and relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
    )
    const known = [...Object.keys(tables), ...ofSchema]
    const forgotten = rows
      .map((row) => String(row.name))
      .filter((table) => !known.includes(table) && !table.startsWith(searchIndexTable))
    expect(forgotten).toEqual([])
    await instance.drop()
  })

test('places in the queue are those of columns that exist', () => {
  for (const [table, columns] of Object.entries(placeColumns))
    for (const column of columns)
      expect(Object.keys(tables[table as keyof typeof tables].columns)).toContain(column)
})
