/**
 * What a message costs: bytes in the database, and bytes written for them by a first sync, without
 * a rate limit. Goals: at most 600 bytes for a message of 100 characters, and at most 4 KB written
 * to SQLite. `-- MESSAGES` sets how many messages; BASELINE=FOLDER measures another checkout beside
 * this one.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runSync } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { launcher, type SandboxProcess, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const messages = Number(process.argv[2] ?? 100_000)
const baseline = process.env.BASELINE
const programs = [
  ...(baseline === undefined
    ? []
    : [{ name: 'before', program: join(baseline, 'bin/deskmirror.js') }]),
  { name: 'now', program: launcher },
]

for (const each of [100, 10]) {
  const service = await startSandboxProcess(messages / each, { messages: each })
  try {
    for (const { name, program } of programs) {
      process.stdout.write(
        `${each} messages in each of ${messages / each} conversations, ${name}\n`,
      )
      await measureSqlite(service, program)
      await measurePostgres(service, program)
    }
  } finally {
    await service.stop()
  }
}

async function measureSqlite(service: SandboxProcess, program: string): Promise<void> {
  await withTempFolder(async (folder) => {
    const path = join(folder, 'mirror.db')
    const run = await runSync(service, `sqlite:${path}`, program)
    const database = new Database(path, { readonly: true })
    const sizeOf = (where: string) =>
      Number(database.prepare(`select sum(pgsize) from dbstat where ${where}`).pluck().get()) /
      run.messages
    const contentBytes = Number(
      database.prepare('select avg(length(cast(content as blob))) from messages').pluck().get(),
    )
    printFigure('  its text', contentBytes, 'bytes')
    printFigure(
      '  SQLite: written for a message',
      run.writtenBytes / run.messages,
      'bytes',
      'goal: at most 4,000',
    )
    printSize(sizeOf("name like '%message%'"), contentBytes)
    printFigure('  the whole file, for a message', sizeOf('true'), 'bytes')
    printFigure('  processor time for a message', (run.cpuMs * 1000) / run.messages, 'µs')
    database.close()
  })
}

async function measurePostgres(service: SandboxProcess, program: string): Promise<void> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  try {
    await client.connect()
    const read = async (query: string) =>
      Number(Object.values((await client.query(`select ${query}`)).rows[0])[0])
    const url = await createSchema(server.url, 'bench')
    const log = () => read("pg_current_wal_lsn() - '0/0'")
    const before = await log()
    const run = await runSync(service, url, program)
    printFigure('  Postgres: log for a message', ((await log()) - before) / run.messages, 'bytes')
    const table = "coalesce(to_regclass('bench.message_rows'), to_regclass('bench.messages'))"
    const contentBytes = await read('avg(octet_length(content)) from bench.messages')
    printSize((await read(`pg_total_relation_size(${table})`)) / run.messages, contentBytes)
    const statistics = 'xact_commit from pg_stat_database where datname = current_database()'
    printFigure(
      '  transactions for 1,000 messages',
      ((await read(statistics)) * 1000) / run.messages,
      '',
    )
    printFigure('  processor time for a message', (run.cpuMs * 1000) / run.messages, 'µs')
  } finally {
    await client.end()
    await server.stop()
  }
}

function printSize(bytes: number, contentBytes: number): void {
  printFigure('  a message with its indexes', bytes, 'bytes')
  printFigure(
    '  … if its text had 100 bytes',
    bytes - contentBytes + 100,
    'bytes',
    'goal: at most 600',
  )
}
