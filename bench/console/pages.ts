/** How long the server takes for each page of the console, cold and warm, and whether the process keeps its beat meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openStandAlone } from '../../src/app/console/open-console.ts'
import { serveStandAlone } from '../../src/http/console/serve-stand-alone.ts'
import { createLog } from '../../src/log.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { benchProject } from '../analytics/synthetic-project.ts'
import { median, printFigure } from '../figures.ts'

const repetitions = 7
const log = createLog({ level: 'error', pretty: true, secrets: [], write: (line) => void process.stderr.write(line) })

export async function measurePages(databaseUrl: string): Promise<void> {
  const { conversation, visitor, writeback } = await findExamples(databaseUrl)
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
    ...['/writebacks', '/writebacks?status=succeeded', '/batches/drafts', '/batches/many-drafts', '/batches/batch-1'],
    ...[`/writebacks/${writeback}`],
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

async function findExamples(databaseUrl: string) {
  const warehouse = await openWarehouse(databaseUrl, { access: 'read' })
  const [conversation] = await warehouse.query(
    `select id, visitor_id as visitor from conversations where project_id = '${benchProject}' limit 1`,
  )
  const [writeback] = await warehouse.query(`select id from writebacks where batch_id = 'drafts' limit 1`)
  await warehouse.close()
  return {
    conversation: String(conversation?.id),
    visitor: String(conversation?.visitor),
    writeback: String(writeback?.id),
  }
}
