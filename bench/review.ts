/**
 * The review of 100,000 rows on a mirror of 125,000 conversations with 500,000 messages, on SQLite
 * and Postgres: of a file before it is queued, and of the batch afterwards; rows per second, and
 * the peak of the process beside that for a tenth of the rows. The rows of one conversation stand
 * together, and, in the other file, as far apart as they can.
 */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { openWarehouse } from '../src/app/open.ts'
import { analyzeAllTables } from '../src/warehouse/statistics.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { runCommand } from './command.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const rows = Number(process.argv[2] ?? 100_000)
const conversations = 1.25 * rows
const text =
  'Thank you for waiting. Your order left our warehouse this morning, and should be with you by Friday.'
const service = {
  environment: {
    DESKMIRROR_BASE_URL: 'http://127.0.0.1:9',
    DESKMIRROR_PROJECT_ID: randomUUID(),
    DESKMIRROR_API_KEY: 'svc_live_bench',
  },
  stop: async () => {},
}

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    const files = {
      tenth: await writeFile(`${folder}/tenth.jsonl`, pairs(rows / 10)),
      together: await writeFile(`${folder}/together.jsonl`, pairs(rows)),
      apart: await writeFile(`${folder}/apart.jsonl`, apart(rows)),
    }
    for (const [name, url] of [
      ['SQLite', `sqlite:${folder}/mirror.db`],
      ['Postgres', await createSchema(postgres.url, 'review')],
    ] as const) {
      await fillMirror(url)
      const idle = await runCommand(['writeback', 'list', '--limit', '1'], service, url)
      const measure = async (what: string, count: number, ...args: readonly string[]) => {
        const { tookMs, peakMb } = await runCommand(['writeback', ...args, '--quiet'], service, url)
        const perSecond = (count / Math.max(1, tookMs - idle.tookMs)) * 1000
        printFigure(
          `${name}, ${what}: rows a second`,
          perSecond,
          'rows/s',
          `${(tookMs / 1000).toFixed(1)} s`,
        )
        printFigure(
          '  peak of the process',
          peakMb,
          'MB',
          `${idle.peakMb.toFixed(0)} MB with nothing to review`,
        )
      }
      await measure('a tenth of the rows', rows / 10, 'import', files.tenth, '--dry-run')
      await measure('a file', rows, 'import', files.together, '--dry-run')
      await measure(
        'the same, to a page and CSV',
        rows,
        'import',
        files.together,
        '--dry-run',
        '--force',
        '--html',
        `${folder}/review.html`,
        '--csv',
        `${folder}/review.csv`,
      )
      await measure('rows of a conversation far apart', rows, 'import', files.apart, '--dry-run')
      const { stdout } = await runCommand(
        ['writeback', 'import', files.together, '--draft', '--quiet'],
        service,
        url,
      )
      const [batch = ''] = /together-[0-9a-f]{12}/.exec(stdout) ?? []
      await measure('the batch', rows, 'batches', 'show', batch)
    }
  } finally {
    await postgres.stop()
  }
})

function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
}

function reply(n: number) {
  return {
    operation: 'message',
    conversation_id: idOf(n),
    content: `${text} (${n})`,
    sender_name: 'Ann',
  }
}

function flag(n: number) {
  return { operation: 'handled', conversation_id: idOf(n), handled: true }
}

/** A reply, and the flag behind it. */
function* pairs(count: number): Generator<object> {
  for (let n = 0; n < count / 2; n++) yield* [reply(n), flag(n)]
}

/** All replies, and then all flags. */
function* apart(count: number): Generator<object> {
  for (let n = 0; n < count / 2; n++) yield reply(n)
  for (let n = 0; n < count / 2; n++) yield flag(n)
}

async function writeFile(path: string, lines: Iterable<object>): Promise<string> {
  const stream = createWriteStream(path)
  for (const line of lines)
    if (!stream.write(`${JSON.stringify(line)}\n`)) await once(stream, 'drain')
  stream.end()
  await once(stream, 'finish')
  return path
}

/** In SQL, as the sync of so many rows would take minutes. */
async function fillMirror(url: string): Promise<void> {
  const warehouse = await openWarehouse(url)
  const isSqlite = url.startsWith('sqlite:')
  const numbers = isSqlite
    ? `(with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n < ${conversations - 1}) select n from numbers) numbers`
    : `generate_series(0, ${conversations - 1}) numbers(n)`
  const id = (n: string) =>
    isSqlite
      ? `printf('00000000-0000-4000-8000-%012d', ${n})`
      : `'00000000-0000-4000-8000-' || lpad((${n})::text, 12, '0')`
  const time = (at: string) => (isSqlite ? `'${at}'` : `timestamptz '${at}'`)
  const json = (value: object) => `${isSqlite ? '' : 'jsonb '}'${JSON.stringify(value)}'`
  const project = `'${service.environment.DESKMIRROR_PROJECT_ID}'`
  const common = `${time('2026-06-01T12:00:00Z')}, 1`
  const raw = json({ padding: 'as wide as a conversation is'.repeat(15) })
  await warehouse.query(`insert into visitors (project_id, id, raw, synced_at, asked_at, name, email)
    select ${project}, ${id('n')}, ${raw}, ${common}, 'Visitor ' || n, null from ${numbers}`)
  await warehouse.query(`insert into conversations (project_id, id, raw, synced_at, asked_at, visitor_id, last_message_at,
    last_message_sender_type, handled_at) select ${project}, ${id('n')}, ${raw}, ${common}, ${id('n')},
    ${time('2026-05-31T10:00:03Z')}, 'visitor', case when n % 2 = 0 then ${time('2026-05-31T11:00:00Z')} end from ${numbers}`)
  for (const [k, sender] of ['visitor', 'agent', 'agent', 'visitor'].entries())
    await warehouse.query(`insert into messages (project_id, conversation_id, id, raw, synced_at, asked_at, sender_type, kind,
      content, created_at) select ${project}, ${id('n')}, 4 * n + ${k}, ${json({})}, ${common}, '${sender}', 'utterance',
      '${text}', ${time(`2026-05-31T10:00:0${k}Z`)} from ${numbers}`)
  await analyzeAllTables(warehouse.db, warehouse.kind)
  await warehouse.close()
}
