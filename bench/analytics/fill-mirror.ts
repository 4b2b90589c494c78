/**
 * Writes batches of rows into the tables of a mirror, past the program: a million rows in a minute.
 */
import Database from 'better-sqlite3'
import pg from 'pg'
import { columnTypes } from '../../schema/column-types.ts'
import { tables } from '../../schema/tables.ts'
import type { TableBatch } from './synthetic-project.ts'

/** `sqlite:PATH`; the tables must exist. */
export function fillSqlite(url: string, batches: Iterable<TableBatch>): void {
  const database = new Database(url.slice('sqlite:'.length))
  database.pragma('synchronous = off')
  for (const { table, columns, rows } of batches) {
    const insert = database.prepare(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    )
    database.transaction(() => {
      for (const row of rows)
        insert.run(row.map((value) => (typeof value === 'boolean' ? Number(value) : value)))
    })()
  }
  database.close()
}

/** The URL may name a schema; the tables must exist. */
export async function fillPostgres(url: string, batches: Iterable<TableBatch>): Promise<void> {
  const { searchParams } = new URL(url)
  const client = new pg.Client({ connectionString: url.split('?')[0] })
  await client.connect()
  await client.query(`set search_path to ${searchParams.get('schema') ?? 'public'}`)
  for (const { table, columns, rows } of batches) {
    const arrays = columns.map((column, index) => `$${index + 1}::${sqlTypeOf(table, column)}[]`)
    const values = columns.map((_, index) => rows.map((row) => row[index]))
    await client.query(
      `insert into ${table} (${columns.join(', ')}) select * from unnest(${arrays.join(', ')})`,
      values,
    )
  }
  await client.end()
}

function sqlTypeOf(table: string, column: string): string {
  const spec = tables[table as keyof typeof tables].columns as Readonly<
    Record<string, readonly [string, string]>
  >
  const type = (spec[column]?.[0] ?? 'text').replace('?', '') as keyof typeof columnTypes
  return columnTypes[type].postgres.replace(' collate "C"', '')
}
