/**
 * `deskmirror move` in all four directions: rows a second, and the memory of the process, beside a
 * plain copy by code that one writes by hand: the same tables, without conversion, comparison,
 * marks or a way to continue. Argument: another number of conversations, of about 20 messages.
 */
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { movedTables } from '../schema/moved-tables.ts'
import { openWarehouse } from '../src/app/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { fillPostgres, fillSqlite } from './analytics/fill-mirror.ts'
import { benchProject, synthesizeProject } from './analytics/synthetic-project.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const conversations = Number(process.argv[2] ?? 10_000)
const batchRows = 1000
const service = {
  environment: {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:1',
    DESKMIRROR_PROJECT_ID: benchProject,
    DESKMIRROR_API_KEY: 'svc_live_bench',
  },
  stop: async () => {},
}

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    for (const from of ['sqlite', 'postgres'] as const)
      for (const to of ['sqlite', 'postgres'] as const) {
        const name = `${from}_${to}`
        const place = (kind: string, end: string) =>
          kind === 'sqlite'
            ? `sqlite:${folder}/${name}_${end}.db`
            : createSchema(postgres.url, `${name}_${end}`)
        const source = await place(from, 'source')
        await fill(source)
        const plain = await place(to, 'plain')
        await (await openWarehouse(plain)).close()
        const byHand = await copyByHand(source, plain)
        const moved = ['move', '--to', await place(to, 'target'), '--json', '--quiet']
        const { stdout, peakMb } = await runCommand(moved, service, source)
        const { rows, tookMs } = JSON.parse(stdout) as { rows: number; tookMs: number }
        const rate = (rows / tookMs) * 1000
        printFigure(`${from} to ${to}: ${rows} rows`, rate, 'rows/s', 'goal: 15,000')
        printFigure('  by hand', byHand, 'rows/s', `${(rate / byHand).toFixed(2)} of it`)
        printFigure('  peak of the process', peakMb, 'MB')
      }
  } finally {
    await postgres.stop()
  }
})

async function fill(url: string): Promise<void> {
  await (await openWarehouse(url)).close()
  const batches = synthesizeProject(conversations, seededRandom(1))
  await (url.startsWith('sqlite:') ? fillSqlite(url, batches) : fillPostgres(url, batches))
}

type Row = Readonly<Record<string, unknown>>

/** Rows a second. */
async function copyByHand(from: string, to: string): Promise<number> {
  const source = await openPlain(from)
  const target = await openPlain(to)
  const startedAt = performance.now()
  let rows = 0
  for (const [table] of movedTables)
    for await (const batch of source.read(table)) {
      rows += batch.length
      await target.insert(table, batch)
    }
  const seconds = (performance.now() - startedAt) / 1000
  await source.close()
  await target.close()
  return rows / seconds
}

async function openPlain(url: string) {
  if (!url.startsWith('sqlite:')) return openPlainPostgres(url)
  const database = new Sqlite(url.slice('sqlite:'.length))
  for (const { name } of database
    .prepare<[], { name: string }>(`select name from sqlite_master where type = 'trigger'`)
    .all())
    if (url.includes('_plain')) database.exec(`drop trigger ${name}`)
  return {
    read: async function* (table: string): AsyncGenerator<readonly Row[]> {
      let batch: Row[] = []
      for (const row of database.prepare<[], Row>(`select * from ${table}`).iterate()) {
        batch.push(row)
        if (batch.length < batchRows) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    },
    insert: async (table: string, batch: readonly Row[]) => {
      const names = Object.keys(batch[0] ?? {})
      const insert = database.prepare(
        `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
      )
      database.transaction(() => {
        for (const row of batch) insert.run(names.map((name) => plain(row[name])))
      })()
    },
    close: async () => void database.close(),
  }
}

function plain(value: unknown) {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

async function openPlainPostgres(url: string) {
  const client = new pg.Client(url.split('?')[0])
  await client.connect()
  await client.query(`set search_path to ${new URL(url).searchParams.get('schema')}`)
  if (url.includes('_plain')) await client.query('set session_replication_role = replica')
  return {
    read: async function* (table: string): AsyncGenerator<readonly Row[]> {
      await client.query(`begin; declare plain cursor for select * from ${table}`)
      for (;;) {
        const { rows } = await client.query<Row>(`fetch ${batchRows} from plain`)
        if (rows.length === 0) break
        yield rows
      }
      await client.query('commit')
    },
    insert: async (table: string, batch: readonly Row[]) => {
      const names = Object.keys(batch[0] ?? {})
      const places = batch.map(
        (_, n) => `(${names.map((_name, m) => `$${n * names.length + m + 1}`).join(', ')})`,
      )
      const values = batch.flatMap((row) => names.map((name) => row[name]))
      await client.query(
        `insert into ${table} (${names.join(', ')}) values ${places.join(', ')}`,
        values.map((value) => (typeof value === 'object' ? plain(value) : value)),
      )
    },
    close: () => client.end(),
  }
}
