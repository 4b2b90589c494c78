/**
 * An import of 100,000 write-backs, as JSON Lines and CSV, on SQLite and Postgres: lines per second
 * and the peak of the process; and of a million. For comparison a bare loop: parse each line,
 * insert it, one transaction, no checks. And 10,000 flags into warehouses with 125,000
 * conversations, each of which is looked up. An argument selects the cases whose names contain it:
 * `npm run bench:import -- Postgres`.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { openWarehouse } from '../src/app/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const lines = 100_000
const service = {
  environment: {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
    DESKMIRROR_PROJECT_ID: randomUUID(),
    DESKMIRROR_API_KEY: 'svc_live_bench',
  },
  stop: async () => {},
}

const wanted = process.argv[2] ?? ''
const isWanted = (name: string) => name.includes(wanted)

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    const [jsonl, csv, large] = [
      `${folder}/many.jsonl`,
      `${folder}/many.csv`,
      `${folder}/large.jsonl`,
    ]
    writeFileSync(jsonl, asJsonLines(lines))
    writeFileSync(csv, asCsv(lines))
    writeFileSync(large, asJsonLines(10 * lines))
    const cases = [
      ['SQLite, JSON Lines', jsonl, `sqlite:${folder}/jsonl.db`, lines],
      ['SQLite, CSV', csv, `sqlite:${folder}/csv.db`, lines],
      ['Postgres, JSON Lines', jsonl, await createSchema(postgres.url, 'jsonl'), lines],
      ['SQLite, JSON Lines, ten times as many', large, `sqlite:${folder}/large.db`, 10 * lines],
    ] as const
    for (const [name, file, url, count] of cases.filter(([name]) => isWanted(name))) {
      await runCommand(['migrate'], service, url)
      const idle = await runCommand(['migrate'], service, url)
      const { tookMs, peakMb } = await runCommand(
        ['writeback', 'import', file, '--quiet'],
        service,
        url,
      )
      printFigure(
        `${name}: lines a second`,
        (count / (tookMs - idle.tookMs)) * 1000,
        'lines/s',
        'without the start of the process',
      )
      printFigure(
        '  peak of the process',
        peakMb,
        'MB',
        `${idle.peakMb.toFixed(0)} MB with nothing to import`,
      )
      const again = await runCommand(['writeback', 'import', file, '--quiet'], service, url)
      printFigure('  the same file again', again.tookMs / 1000, 's', 'queues nothing')
    }
    for (const [name, url] of [
      ['SQLite', `sqlite:${folder}/mirrored.db`],
      ['Postgres', await createSchema(postgres.url, 'mirrored')],
    ] as const) {
      const title = `${name}: 10,000 flags beside 125,000 conversations`
      if (!isWanted(title)) continue
      const file = `${folder}/flags-${name}.jsonl`
      writeFileSync(file, asFlags(await mirrorConversations(url)))
      const idle = await runCommand(['migrate'], service, url)
      const { tookMs } = await runCommand(['writeback', 'import', file, '--quiet'], service, url)
      printFigure(title, (tookMs - idle.tookMs) / 1000, 's')
    }
    if (!isWanted('a bare loop')) return
    const bare = median([0, 1, 2].map((n) => bareLoop(jsonl, `${folder}/bare${n}.db`)))
    printFigure('a bare loop into SQLite: lines a second', (lines / bare) * 1000, 'lines/s')
  } finally {
    await postgres.stop()
  }
})

function asJsonLines(count: number): string {
  const line = (n: number) => ({
    operation: 'message',
    conversation_id: randomUUID(),
    content: text(n),
    sender_name: 'Ann',
  })
  return Array.from({ length: count }, (_, n) => `${JSON.stringify(line(n))}\n`).join('')
}

/** Returns the ids. */
async function mirrorConversations(url: string): Promise<readonly string[]> {
  const warehouse = await openWarehouse(url)
  const ids = Array.from({ length: 125_000 }, () => randomUUID())
  const raw = JSON.stringify({ padding: 'as wide as a conversation is'.repeat(15) })
  for (let from = 0; from < ids.length; from += 5000) {
    const rows = ids.slice(from, from + 5000).map(
      (id) => `('${service.environment.DESKMIRROR_PROJECT_ID}', '${id}', '${raw}',
      '2026-01-01T00:00:00Z', 1, '2026-01-01T00:00:00Z')`,
    )
    await warehouse.query(`insert into conversations (project_id, id, raw, synced_at, asked_at, last_message_at)
      values ${rows.join(', ')}`)
  }
  await warehouse.close()
  return ids
}

function asFlags(ids: readonly string[]): string {
  const flag = (conversation_id: string) => ({
    operation: 'handled',
    conversation_id,
    handled: true,
  })
  return ids
    .slice(0, 10_000)
    .map((id) => `${JSON.stringify(flag(id))}\n`)
    .join('')
}

function asCsv(count: number): string {
  const rows = Array.from(
    { length: count },
    (_, n) => `message,${randomUUID()},"${text(n)}",Ann\r\n`,
  )
  return `operation,conversation_id,content,sender_name\r\n${rows.join('')}`
}

/** About as long as typical replies. */
function text(n: number): string {
  return `Thank you for waiting. Order ${n} left our warehouse this morning, and should be with you by Friday at the latest.`
}

/** Returns milliseconds. */
function bareLoop(file: string, path: string): number {
  const database = new Database(path)
  database.pragma('journal_mode = wal')
  database.exec(
    'create table rows (id text primary key, operation text, target text, payload text)',
  )
  const insert = database.prepare('insert into rows values (?, ?, ?, ?)')
  const began = performance.now()
  database.transaction(() => {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line === '') continue
      const { operation, conversation_id, ...payload } = JSON.parse(line)
      insert.run(randomUUID(), operation, conversation_id, JSON.stringify(payload))
    }
  })()
  const took = performance.now() - began
  database.close()
  return took
}
