/**
 * How long the server takes for each page of the console, cold and warm, and whether the process
 * keeps its beat meanwhile.
 */
import { openWorkerConsole } from '../../jobs/worker-http.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { defaultConfig, defaultProject } from '../../src/config/config.ts'
import { createAttempts } from '../../src/http/auth.ts'
import { openHttpServer } from '../../src/http/server.ts'
import { createLog } from '../../src/log.ts'
import { secret } from '../../src/values/secret.ts'
import { benchProject } from '../analytics/synthetic-project.ts'
import { median, printFigure } from '../figures.ts'

const repetitions = 7
/** Of the mirror's two years. */
const month = 'from=2025-12-01&to=2025-12-28'
const year = 'from=2025-01-01&to=2025-12-31'
const log = createLog({
  level: 'error',
  pretty: true,
  secrets: [],
  write: (line) => void process.stderr.write(line),
})

export async function measurePages(databaseUrl: string): Promise<void> {
  const { conversation, visitor, writeback } = await findExamples(databaseUrl)
  const warehouse = await openWarehouse(databaseUrl)
  const address = {
    name: benchProject,
    baseUrl: new URL('http://127.0.0.1:9/v1'),
    apiKey: secret('svc_live_bench'),
  }
  const projects = [defaultProject({ ...address, projectId: benchProject })]
  const served = openWorkerConsole(
    () => defaultConfig({ projects, databaseUrl }),
    warehouse,
    createAttempts(),
    log,
  )
  const health = { isAlive: () => true, checkReadiness: async () => [] }
  const server = { host: '127.0.0.1', port: 0, token: null, health, metrics: null, log }
  const http = await openHttpServer({ ...server, plugins: [served.routes] })
  const cookie = await signIn((await served.createLink(http.address)) ?? '')
  const root = `/console/p/${benchProject}`
  const pages = [
    ...[
      '',
      '/open',
      '/open?waiting=yes&sort=wait&assigned=none',
      '/open?sort=silence&older=3600',
      '/waiting',
      '/search?q=order',
      '/search?q=the+of',
      '/search?q=visitor-1@',
      `/search?q=${conversation.slice(0, 8)}`,
      `/conversations/${conversation}`,
      `/visitors/${visitor}`,
    ],
    ...['/streams', '/budget', '/runs', '/schema', '/service', '/charts?over=90+days'],
    ...['agents', 'targets', 'ai', 'hours', 'calls', 'report'].map((name) => `/${name}?${month}`),
    ...[
      `/hours?${year}`,
      `/waits?${month}`,
      `/waits?${year}`,
      `/waits?${month}&ended=nobody`,
      `/conversations?of=targets&count=missed&${month}`,
      `/conversations?of=agents&${year}`,
    ],
    ...[
      '/writebacks',
      '/writebacks?status=succeeded',
      '/batches/drafts',
      '/batches/many-drafts',
      '/batches/batch-1',
    ],
    ...[`/writebacks/${writeback}`, '/confirm?decision=approve&batch=many-drafts'],
  ]
  const holds = measureHolds()
  for (const page of pages) {
    holds.reset()
    const times: number[] = []
    for (let n = 0; n <= repetitions; n += 1)
      times.push(await timed(http.address + root + page, cookie))
    const [cold = 0, ...warm] = times
    printFigure(
      `  ${page === '' ? 'overview' : page}: warm (cold ${Math.round(cold)} ms)`,
      median(warm),
      'ms',
      `goal: under 200 ms; the event loop was held for up to ${Math.round(holds.longestMs())} ms, goal: under 50 ms`,
    )
  }
  holds.stop()
  await http.close()
  await served.close()
  await warehouse.close()
}

/**
 * The processor time that the event loop takes for what is due at once: what other processes of the
 * machine take does not count.
 */
function measureHolds() {
  let [last, longest, isOver] = [0, 0, false]
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  const turn = () => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setTimeout(turn, 1)
  }
  last = cpuMs()
  turn()
  return {
    reset: () => {
      longest = 0
    },
    longestMs: () => longest,
    stop: () => {
      isOver = true
    },
  }
}

async function signIn(link: string): Promise<string> {
  const { origin, searchParams } = new URL(link)
  const body = new URLSearchParams({ name: 'bench', code: searchParams.get('code') ?? '' })
  const headers = { 'sec-fetch-site': 'same-origin', origin }
  const response = await fetch(`${origin}/console/sign-in`, {
    method: 'POST',
    body,
    headers,
    redirect: 'manual',
  })
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
  const [writeback] = await warehouse.query(
    `select id from writebacks where batch_id = 'drafts' limit 1`,
  )
  await warehouse.close()
  return {
    conversation: String(conversation?.id),
    visitor: String(conversation?.visitor),
    writeback: String(writeback?.id),
  }
}
