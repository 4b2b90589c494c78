/**
 * The console over a mirror of 1,000,000 messages in 50,000 conversations, on SQLite and Postgres: how long the server takes
 * for each page, cold and warm, and whether the process keeps its beat meanwhile. An argument is another number of
 * conversations. Times are those of whole requests on loopback, compression included.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openStandAlone } from '../src/app/console/stand-alone.ts'
import { serveStandAlone } from '../src/http/console/serve-stand-alone.ts'
import { createLog } from '../src/log.ts'
import { openWarehouse } from '../src/warehouse/open.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { fillPostgres, fillSqlite } from './analytics/fill-mirror.ts'
import { benchFacts } from './analytics/measure-layer.ts'
import { benchProject, synthesizeProject } from './analytics/synthetic-project.ts'
import { createSchema } from './create-schema.ts'
import { median, printFigure } from './figures.ts'
import { withTempFolder } from './temp-folder.ts'

const conversations = Number(process.argv[2] ?? 50_000)
const repetitions = 7
const log = createLog({ level: 'error', pretty: true, secrets: [], write: (line) => void process.stderr.write(line) })
const batches = () => synthesizeProject(conversations, seededRandom(1))

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  try {
    await measure('SQLite', `sqlite:${folder}/console.db`, async (url) => fillSqlite(url, batches()))
    await measure('Postgres', await createSchema(postgres.url, 'console'), (url) => fillPostgres(url, batches()))
  } finally {
    await postgres.stop()
  }
})

async function measure(name: string, url: string, fill: (url: string) => Promise<void>): Promise<void> {
  const created = await openWarehouse(url)
  await created.close()
  await fill(url)
  const warehouse = await openWarehouse(url)
  const started = performance.now()
  await benchFacts(warehouse).rebuild()
  printFigure(`${name}: facts and the search index`, (performance.now() - started) / 1000, 's')
  await warehouse.query(`insert into sync_streams (project_id, stream, synced_at)
    values ('${benchProject}', 'conversations', '2026-01-01T00:00:00Z')`)
  await warehouse.analyzeTables()
  const [row] = await warehouse.query(
    `select id, visitor_id as visitor from conversations where project_id = '${benchProject}' limit 1`,
  )
  await warehouse.close()
  await measurePages(url, String(row?.['id']), String(row?.['visitor']))
}

async function measurePages(databaseUrl: string, conversation: string, visitor: string): Promise<void> {
  const opened = await openStandAlone({ databaseUrl, config: null, now: Date.now })
  const http = await serveStandAlone(opened, { port: 0, log, now: Date.now })
  const cookie = await signIn(http.address, opened.links.create())
  const root = `/console/p/${benchProject}`
  const pages = [
    ...[
      '',
      '/waiting',
      '/search?q=order',
      '/search?q=the+of',
      `/conversations/${conversation}`,
      `/visitors/${visitor}`,
    ],
    ...['/streams', '/budget', '/runs', '/schema', '/service', '/charts?over=90+days'],
  ]
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  for (const page of pages) {
    const times: number[] = []
    for (let n = 0; n <= repetitions; n += 1) times.push(await timed(http.address + root + page, cookie))
    const [cold = 0, ...warm] = times
    printFigure(
      `  ${page === '' ? 'overview' : page}: warm (cold ${Math.round(cold)} ms)`,
      median(warm),
      'ms',
      'goal: under 200 ms',
    )
  }
  printFigure('  longest delay of the process meanwhile', delay.max / 1e6, 'ms')
  await http.close()
  await opened.close()
}

async function signIn(address: string, code: string): Promise<string> {
  const body = new URLSearchParams({ name: 'bench', code })
  const headers = { 'sec-fetch-site': 'same-origin', origin: address }
  const response = await fetch(`${address}/console/sign-in`, { method: 'POST', body, headers, redirect: 'manual' })
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
}

async function timed(url: string, cookie: string): Promise<number> {
  const started = performance.now()
  const response = await fetch(url, { headers: { cookie } })
  await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return performance.now() - started
}
