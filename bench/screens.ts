/**
 * Pictures of every screen of the console, in light, in the dark and on a phone, of a small mirror: into the folder
 * `screens`, or the one that the argument names. `npm run screens` before the pictures of the README are replaced.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openStandAlone } from '../src/app/console/stand-alone.ts'
import { serveStandAlone } from '../src/http/console/serve-stand-alone.ts'
import { createLog } from '../src/log.ts'
import { openWarehouse } from '../src/warehouse/open.ts'
import { launchBrowserIn } from '../test/support/browser.ts'
import { launcher } from './sandbox.ts'

const folder = process.argv[2] ?? 'screens'
mkdirSync(folder, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'deskmirror-screens-'))
const path = join(work, 'demo.db')

await promisify(execFile)(process.execPath, [launcher, 'demo', '--quiet', '--keep', path])
const [conversation = '', visitor = ''] = await fillBudget(`sqlite:${path}`)
const opened = await openStandAlone({ databaseUrl: `sqlite:${path}`, config: null, now: Date.now })
const log = createLog({ level: 'error', pretty: true, secrets: [], write: (line) => void process.stderr.write(line) })
const http = await serveStandAlone(opened, { port: 0, log, now: Date.now })
const [project] = await opened.projects()
const browser = await launchBrowserIn(work)

const root = `/console/p/${project?.name}`
const screens: Readonly<Record<string, string>> = {
  overview: root,
  waiting: `${root}/waiting`,
  search: `${root}/search?q=order`,
  conversation: `${root}/conversations/${conversation}`,
  visitor: `${root}/visitors/${visitor}`,
  charts: `${root}/charts`,
  streams: `${root}/streams`,
  stream: `${root}/streams/messages`,
  budget: `${root}/budget`,
  runs: `${root}/runs`,
  schema: `${root}/schema`,
  service: `${root}/service`,
  projects: '/console/projects',
  log: '/console/log',
}
const looks = {
  light: { viewport: { width: 1280, height: 860 } },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 800 } },
} as const

for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(`${http.address}/console/sign-in?code=${opened.links.create()}`)
  await page.screenshot({ path: join(folder, `sign-in-${look}.png`) })
  await page.getByLabel('Your name').fill('ann')
  await page.getByRole('button', { name: 'Sign in' }).click()
  for (const [name, address] of Object.entries(screens)) {
    await page.goto(http.address + address)
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: look !== 'phone' })
  }
  await context.close()
}
await browser.close()
await http.close()
await opened.close()
process.stdout.write(`${folder}: ${(Object.keys(screens).length + 1) * Object.keys(looks).length} pictures\n`)

/** The demo sends few requests, so the chart of the budget gets some more. Returns ids to show. */
async function fillBudget(url: string): Promise<readonly string[]> {
  const warehouse = await openWarehouse(url)
  const [known] = await warehouse.listProjects()
  const now = Math.floor(Date.now() / 60_000) * 60_000
  const minutes = Array.from({ length: 58 }, (_, ago) => ({
    minute: now - (ago + 1) * 60_000,
    wave: Math.sin(ago / 6),
  }))
  for (const { minute, wave } of minutes) {
    const common = { project: known?.id ?? '', minute, throttled: 0 }
    await warehouse.budgetHistory.add([
      { ...common, priority: 'fresh', requests: Math.round(160 + 120 * wave) },
      { ...common, priority: 'backfill', requests: Math.round(120 - 90 * wave) },
      { ...common, priority: 'write', requests: Math.round(40 + 30 * wave) },
    ])
  }
  const [row] = await warehouse.query(`select id, visitor_id from conversations
    where id = (select conversation_id from messages group by 1 order by count(*) desc limit 1)`)
  await warehouse.close()
  return [String(row?.['id']), String(row?.['visitor_id'])]
}
