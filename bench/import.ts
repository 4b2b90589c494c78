/**
 * An import of 100,000 write-backs, JSON Lines and CSV, on SQLite and Postgres: lines a second and the peak of the process;
 * the same of ten times as many. Beside it a bare loop: parse each line, insert it, one transaction, no check, no log.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { startPostgres } from '../test/support/postgres-server.ts'
import { run } from './command.ts'
import { median, print } from './figures.ts'
import { inFolder } from './folder.ts'
import { ownSchema } from './own-schema.ts'

const lines = 100_000
const service = {
  environment: {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
    DESKMIRROR_PROJECT_ID: randomUUID(),
    DESKMIRROR_API_KEY: 'svc_live_bench',
  },
  stop: async () => {},
}

await inFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    const [jsonl, csv, large] = [`${folder}/many.jsonl`, `${folder}/many.csv`, `${folder}/large.jsonl`]
    writeFileSync(jsonl, asJsonLines(lines))
    writeFileSync(csv, asCsv(lines))
    writeFileSync(large, asJsonLines(10 * lines))
    const places = [
      ['SQLite, JSON Lines', jsonl, `sqlite:${folder}/jsonl.db`, lines],
      ['SQLite, CSV', csv, `sqlite:${folder}/csv.db`, lines],
      ['Postgres, JSON Lines', jsonl, await ownSchema(postgres.url, 'jsonl'), lines],
      ['SQLite, JSON Lines, ten times as many', large, `sqlite:${folder}/large.db`, 10 * lines],
    ] as const
    for (const [name, file, url, count] of places) {
      await run(['migrate'], service, url)
      const idle = await run(['migrate'], service, url)
      const { tookMs, peakMb } = await run(['writeback', 'import', file, '--quiet'], service, url)
      print(
        `${name}: lines a second`,
        (count / (tookMs - idle.tookMs)) * 1000,
        'lines/s',
        'the start of the process aside',
      )
      print('  peak of the process', peakMb, 'MB', `${idle.peakMb.toFixed(0)} MB with nothing to import`)
      const again = await run(['writeback', 'import', file, '--quiet'], service, url)
      print('  the same file once more', again.tookMs / 1000, 's', 'queues nothing')
    }
    const bare = median([0, 1, 2].map((n) => bareLoop(jsonl, `${folder}/bare${n}.db`)))
    print('a bare loop into SQLite: lines a second', (lines / bare) * 1000, 'lines/s')
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

function asCsv(count: number): string {
  const rows = Array.from({ length: count }, (_, n) => `message,${randomUUID()},"${text(n)}",Ann\r\n`)
  return `operation,conversation_id,content,sender_name\r\n${rows.join('')}`
}

/** About as long as replies are. */
function text(n: number): string {
  return `Thank you for your patience. Order ${n} left our house this morning, and should be with you by Friday at the latest.`
}

/** Milliseconds. */
function bareLoop(file: string, path: string): number {
  const database = new Database(path)
  database.pragma('journal_mode = wal')
  database.exec('create table rows (id text primary key, operation text, target text, payload text)')
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
