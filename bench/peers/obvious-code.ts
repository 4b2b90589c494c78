/**
 * What one writes by hand for the same pages: parses the JSON and stores each row by its fields and
 * as it came, in a table with the same key and index as ours, a transaction a page.
 */
import { pipeline } from 'node:stream/promises'
import type Sqlite from 'better-sqlite3'
import type Pg from 'pg'
import type { PeerPage } from './pages.ts'

type Fields = Readonly<Record<string, unknown>>
type CopyFrom = (text: string) => NodeJS.WritableStream & Parameters<Pg.Client['query']>[0]

/** The columns are the fields of the first row. */
function rowsOf({ parent, body }: PeerPage): readonly Fields[] {
  const { data } = JSON.parse(body.toString()) as {
    readonly data: { readonly items: readonly Fields[] }
  }
  return data.items.map((item) => ({ ...item, conversation_id: parent, raw: JSON.stringify(item) }))
}

const storable = (value: unknown) =>
  typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : typeof value === 'boolean'
      ? Number(value)
      : value

const quoted = (columns: readonly string[]) => columns.map((column) => `"${column}"`).join()

function columnsOf([page]: readonly PeerPage[]): readonly string[] {
  return page === undefined ? [] : Object.keys(rowsOf(page)[0] ?? {})
}

function createTable(columns: readonly string[]): readonly string[] {
  const types = columns.map((column) => `"${column}" ${column === 'id' ? 'integer' : 'text'}`)
  return [
    `create table messages (${types.join()}, primary key (conversation_id, id))`,
    'create index messages_by_time on messages ("createdAt")',
  ]
}

function onConflict(columns: readonly string[]): string {
  const assignments = columns.map((column) => `"${column}" = excluded."${column}"`)
  return `on conflict (conversation_id, id) do update set ${assignments.join()}`
}

/** Seconds. */
export function insertWithSqlite(
  Database: typeof Sqlite,
  file: string,
  pages: readonly PeerPage[],
): number {
  const database = new Database(file)
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = normal')
  const columns = columnsOf(pages)
  for (const statement of createTable(columns)) database.exec(statement)
  const insert = database.prepare(
    `insert into messages (${quoted(columns)}) values (${columns.map(() => '?').join()}) ${onConflict(columns)}`,
  )
  const store = database.transaction((rows: readonly Fields[]) => {
    for (const row of rows) insert.run(columns.map((column) => storable(row[column] ?? null)))
  })
  const began = performance.now()
  for (const page of pages) store(rowsOf(page))
  const seconds = (performance.now() - began) / 1000
  database.close()
  return seconds
}

/** Seconds, with one statement a page. */
export async function insertWithPg(
  { Client }: typeof Pg,
  url: string,
  pages: readonly PeerPage[],
): Promise<number> {
  return withTable(Client, url, pages, async (client, columns, rows) => {
    const values = rows.flatMap((row) => columns.map((column) => storable(row[column] ?? null)))
    const places = rows.map(
      (_, n) => `(${columns.map((_column, m) => `$${n * columns.length + m + 1}`).join()})`,
    )
    await client.query(
      `insert into messages (${quoted(columns)}) values ${places.join()} ${onConflict(columns)}`,
      values as string[],
    )
  })
}

/** Seconds, with one COPY a page: it inserts only, so it does less than all others. */
export async function copyWithPg(
  { Client }: typeof Pg,
  copyFrom: CopyFrom,
  url: string,
  pages: readonly PeerPage[],
): Promise<number> {
  return withTable(Client, url, pages, async (client, columns, rows) => {
    const line = (row: Fields) =>
      columns.map((column) => copyText(storable(row[column] ?? null))).join('\t')
    const stream = client.query(
      copyFrom(`copy messages (${quoted(columns)}) from stdin`),
    ) as unknown
    await pipeline([`${rows.map(line).join('\n')}\n`], stream as NodeJS.WritableStream)
  })
}

function copyText(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  return String(value).replace(
    /[\\\t\n\r]/g,
    (it) => ({ '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' })[it] ?? '',
  )
}

async function withTable(
  Client: typeof Pg.Client,
  url: string,
  pages: readonly PeerPage[],
  store: (client: Pg.Client, columns: readonly string[], rows: readonly Fields[]) => Promise<void>,
): Promise<number> {
  const client = new Client(url)
  await client.connect()
  try {
    const columns = columnsOf(pages)
    await client.query('drop table if exists messages')
    for (const statement of createTable(columns)) await client.query(statement)
    const began = performance.now()
    for (const page of pages) await store(client, columns, rowsOf(page))
    return (performance.now() - began) / 1000
  } finally {
    await client.end()
  }
}
