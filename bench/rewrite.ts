/**
 * `migrate` over a warehouse of an older version, whose messages are stored whole: how long it takes, how much space they take
 * before and after, and how long reading `raw` of 100,000 messages takes. `-- MESSAGES` sets how many there are.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { makeOlderWarehouse } from './rewrite/older-warehouse.ts'
import { withTempFolder } from './temp-folder.ts'

const messages = Number(process.argv[2] ?? 1_000_000)
const scanned = 'select raw from messages limit 100000'
const names = '(messages|messages_pkey|messages_by_time|messages_deleted|message_rows)'

await withTempFolder(async (folder) => {
  const path = join(folder, 'mirror.db')
  await measure('SQLite', `sqlite:${path}`, {
    scan: async () => readRaw(path),
    bytes: async () => {
      const database = new Database(path)
      const size = Number(
        database
          .prepare("select sum(pgsize) from dbstat where name like '%message%' and name not like '%writeback%'")
          .pluck()
          .get(),
      )
      database.close()
      return size
    },
    vacuum: async () => {
      const database = new Database(path)
      database.exec('vacuum')
      database.close()
    },
  })
})
const server = await startPostgres()
const client = new pg.Client({ connectionString: server.url })
try {
  await client.connect()
  const url = await createSchema(server.url, 'bench')
  await client.query('set search_path to bench')
  await measure('Postgres', url, {
    scan: async () => {
      const began = performance.now()
      await client.query(`select sum(length(raw::text)) from (${scanned}) found`)
      return performance.now() - began
    },
    bytes: async () => {
      const { rows } = await client.query(
        `select sum(pg_table_size(oid)) as size from pg_class where relnamespace = 'bench'::regnamespace and relname ~ '^${names}$'`,
      )
      return Number(rows[0]?.size)
    },
    vacuum: async () => void (await client.query('vacuum full message_rows')),
  })
} finally {
  await client.end()
  await server.stop()
}

type Measurements = {
  readonly scan: () => Promise<number>
  readonly bytes: () => Promise<number>
  readonly vacuum: () => Promise<void>
}

async function measure(name: string, url: string, { scan, bytes, vacuum }: Measurements): Promise<void> {
  process.stdout.write(`${name}, ${messages.toLocaleString('en-US')} messages\n`)
  const medianScan = async () => {
    const times: number[] = []
    for (let n = 0; n < 5; n++) times.push(await scan())
    return median(times)
  }
  await makeOlderWarehouse(url, messages)
  printFigure('  before: a message with its indexes', (await bytes()) / messages, 'bytes')
  printFigure('  … raw of 100,000 messages', await medianScan(), 'ms')
  const run = await runCommand(['migrate', '--quiet'], { environment: {} }, url)
  printFigure('  migrate', run.tookMs / 1000, 's', `${(run.cpuMs / 1000).toFixed(1)} s of processor time`)
  printFigure('  … peak memory', run.peakMb, 'MB')
  printFigure('  … messages a second', messages / (run.tookMs / 1000), '')
  printFigure('  after: a message with its indexes', (await bytes()) / messages, 'bytes')
  await vacuum()
  printFigure('  … after vacuum', (await bytes()) / messages, 'bytes', 'goal: at most 600')
  printFigure('  … raw of 100,000 messages', await medianScan(), 'ms')
}

function readRaw(path: string): number {
  const database = new Database(path, { readonly: true })
  const began = performance.now()
  let size = 0
  for (const raw of database.prepare<[], string>(scanned).pluck().iterate()) size += raw.length
  const took = performance.now() - began
  database.close()
  if (size === 0) throw new Error('nothing was read')
  return took
}
