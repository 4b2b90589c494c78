/** Columns that came later than their rows are filled from `raw`, portion by portion, without one request. */
import { sql } from 'kysely'
import { tables } from '../../../schema/tables.ts'
import { fieldAt } from '../../core/fieldpath.ts'
import { parseJson } from '../../core/json.ts'
import type { StreamName } from '../../core/row.ts'
import { bound, each } from '../database/dialect.ts'
import { decodeJson, decodeText } from '../database/escape.ts'
import type { Db } from '../database/session.ts'
import { encoder } from '../mirror/cell.ts'
import type { Context } from '../mirror/context.ts'
import { bare, tableOf } from '../mirror/stream-tables.ts'
import type { MirroredTable } from '../mirror/upsert.ts'
import { columnTypeOf, type FieldType } from './type.ts'

/** Rows a transaction: other writers get their turn in between, and a crash repeats one portion at most. */
const portion = 500

type Unfilled = { stream: string; path: string; column_name: string; type: string; fill_after: string }

/** All that is unfilled, of every project. A run begins with it. */
export async function fillColumns(c: Context): Promise<void> {
  for (;;) {
    const pending = await c.db.transaction().execute((trx) => fillPortion(c, trx))
    if (!pending) return
  }
}

/** One portion of the rows of all columns of a table that stand at the same place; false when nothing is left to do. */
async function fillPortion(c: Context, trx: Db): Promise<boolean> {
  const { rows } = await sql<Pick<Unfilled, 'stream' | 'fill_after'>>`
    select stream, fill_after from discovered_fields
    where fill_after is not null and column_name is not null order by stream, fill_after limit 1`.execute(trx)
  const place = rows[0]
  if (place === undefined) return false
  const table = tableOf[place.stream as StreamName]
  const fields = await fieldsAt(trx, place)
  const found = await rowsAfter(c, trx, table, place.fill_after)
  for (const row of found) await fillRow(c, trx, table, fields, row)
  const last = found.at(-1)
  const reached = found.length < portion || last === undefined ? null : JSON.stringify(last.key)
  await sql`update discovered_fields set fill_after = ${bound(c.kind, 'text', reached)}
    where stream = ${place.stream} and path in (select value from ${each(
      c.kind,
      fields.map(({ path }) => path),
    )} as filled)`.execute(trx)
  return true
}

/** Several projects may have found the same field. */
async function fieldsAt(trx: Db, { stream, fill_after }: Pick<Unfilled, 'stream' | 'fill_after'>): Promise<Unfilled[]> {
  const { rows } = await sql<Unfilled>`
    select distinct stream, path, column_name, type, fill_after from discovered_fields
    where stream = ${stream} and fill_after = ${fill_after} and column_name is not null`.execute(trx)
  return [...new Map(rows.map((field) => [field.column_name, field])).values()]
}

type Row = { readonly key: readonly string[]; readonly raw: string }

async function rowsAfter(c: Context, trx: Db, table: MirroredTable, after: string): Promise<Row[]> {
  const names = tables[table].key
  const refs = sql.join(names.map((name) => sql.ref(name)))
  const from = after === '' ? sql`true` : sql`(${refs}) > (${sql.join(keyParameters(c, table, JSON.parse(after)))})`
  const raw = c.kind === 'sqlite' ? sql`raw` : sql`raw::text`
  const { rows } = await sql<Record<string, unknown>>`
    select ${refs}, ${raw} as raw from ${sql.table(table)} where ${from} order by ${refs} limit ${portion}`.execute(trx)
  return rows.map((row) => ({ key: names.map((name) => String(row[name])), raw: String(row.raw) }))
}

/** So many columns are set by one statement. */
const together = 200

async function fillRow(
  c: Context,
  trx: Db,
  table: MirroredTable,
  fields: readonly Unfilled[],
  row: Row,
): Promise<void> {
  const item = parseJson(decodeJson(c.kind, row.raw))
  const settings = fields.flatMap(({ path, type, column_name }) => {
    const extra = fieldAt(item, decodeText(path))
    if (extra === undefined || extra.value === null) return []
    const column = columnTypeOf[type as FieldType]
    const value = encoder(column, c.kind, { escaped: 0 })(extra.value)
    return [sql`${sql.ref(column_name)} = ${bound(c.kind, column, value)}`]
  })
  const parameters = keyParameters(c, table, row.key)
  const same = tables[table].key.map((name, i) => sql`${sql.ref(name)} = ${parameters[i]}`)
  for (let n = 0; n < settings.length; n += together) {
    await sql`update ${sql.table(table)} set ${sql.join(settings.slice(n, n + together))}
      where ${sql.join(same, sql` and `)}`.execute(trx)
  }
}

function keyParameters(c: Context, table: MirroredTable, key: readonly string[]) {
  const columns: Readonly<Record<string, readonly [Parameters<typeof bare>[0], string]>> = tables[table].columns
  return tables[table].key.map((name, i) => {
    const type = bare(columns[name]?.[0] ?? 'key')
    return bound(c.kind, type, type === 'integer' ? BigInt(key[i] ?? 0) : (key[i] ?? ''))
  })
}
