/**
 * Pictures of every screen of the console, in light, in the dark and on a phone, of a small mirror,
 * of a project that has nothing yet, and of the mirror as a file that is only looked at: into the
 * folder `screens`, or the one that the first argument names; others name screens. `npm run
 * screens` before the pictures of the README are replaced.
 */

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { openWarehouse, type Warehouse } from '../src/app/open.ts'
import { defaultConfig, defaultProject } from '../src/config/config.ts'
import { periodTableNames } from '../src/console/pages/render-period-page.ts'
import { openConsoleReads } from '../src/console/reads.ts'
import { consolePlugin } from '../src/console/routes/routes.ts'
import { serveStandAlone } from '../src/console/stand-alone.ts'
import { createAttempts } from '../src/http/auth.ts'
import { openHttpServer } from '../src/http/server.ts'
import { createLog } from '../src/log.ts'
import { listMirroredProjects } from '../src/maintenance/sql/projects.ts'
import { recordWorkerHeartbeat } from '../src/maintenance/sql/workers.ts'
import { createOutbox } from '../src/outbox/sql/outbox.ts'
import { addMinutes } from '../src/service/sql/request-counts.ts'
import { secret } from '../src/values/secret.ts'
import { createAuditLog } from '../src/warehouse/audit-log.ts'
import { launchBrowserIn } from '../test/support/browser.ts'
import { launcher } from './sandbox.ts'

const [folder = 'screens', ...only] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const work = mkdtempSync(join(tmpdir(), 'deskmirror-screens-'))
const path = join(work, 'demo.db')

await promisify(execFile)(process.execPath, [launcher, 'demo', '--quiet', '--keep', path])
const { projectId, conversation, visitor, answered, uncertain } = await fill(`sqlite:${path}`)
const log = createLog({
  level: 'error',
  pretty: true,
  secrets: [],
  write: (line) => void process.stderr.write(line),
})
const databaseUrl = `sqlite:${path}`
const token = secret('token')
const projectOf = (name: string, id: string) =>
  defaultProject({
    name,
    projectId: id,
    apiKey: token,
    baseUrl: new URL('https://api.example.com/v1'),
  })
const projects = [projectOf('demo', projectId), projectOf('empty', 'nothing')]
const reads = openConsoleReads({ databaseUrl }, Date.now)
const auditLog = createAuditLog((await reads.warehouse()).db)
const plugin = consolePlugin({
  reads,
  attempts: createAttempts(),
  isReadOnly: false,
  log,
  now: Date.now,
  config: () => defaultConfig({ projects, databaseUrl }),
  projects: async () => projects,
  access: {
    people: () => [{ name: 'ann', role: 'approver', hidesMessages: false, token }],
    httpToken: null,
  },
  // Pictures leave nothing behind.
  store: { ...auditLog, append: async () => {}, endSession: async () => {} },
})
const health = { isAlive: () => true, checkReadiness: async () => [] }
const address = { host: '127.0.0.1', port: 0, token: null, health, metrics: null }
const http = await openHttpServer({
  ...address,
  plugins: [{ prefix: '/console', auth: 'own', plugin }],
  log,
})
const browser = await launchBrowserIn(work)

const root = '/console/p/demo'
const screens: Readonly<Record<string, string>> = {
  overview: root,
  open: `${root}/open`,
  waits: `${root}/waits?from=2026-01-01&to=2026-12-31`,
  waiting: `${root}/waiting`,
  writebacks: `${root}/writebacks`,
  batch: `${root}/batches/parcels`,
  'batch-sending': `${root}/batches/sending`,
  'batch-done': `${root}/batches/done?status=failed`,
  'batch-stopped': `${root}/batches/stopped`,
  confirm: `${root}/confirm?decision=approve&batch=parcels`,
  cancel: `${root}/confirm?decision=cancel&batch=parcels`,
  stop: `${root}/confirm?decision=stop_all`,
  failed: `${root}/writebacks?status=failed`,
  uncertain: `${root}/writebacks/${uncertain}`,
  import: `${root}/import`,
  'import-mistakes': `${root}/import`,
  'import-columns': `${root}/import`,
  keys: root,
  drafted: `${root}/conversations/${conversation}#write`,
  missing: `${root}/batches/nothing`,
  search: `${root}/search?q=order`,
  conversation: `${root}/conversations/${conversation}`,
  visitor: `${root}/visitors/${visitor}`,
  answered: `${root}/visitors/${answered}`,
  correct: `${root}/visitors/${answered}?correct=yes`,
  charts: `${root}/charts`,
  report: `${root}/report`,
  ...Object.fromEntries(
    periodTableNames.map((name) => [name, `${root}/${name}?from=2026-08-01&to=2026-11-27`]),
  ),
  counted: `${root}/conversations?of=ai`,
  streams: `${root}/streams`,
  stream: `${root}/streams/messages`,
  budget: `${root}/budget`,
  runs: `${root}/runs`,
  run: `${root}/runs`,
  schema: `${root}/schema`,
  service: `${root}/service`,
  projects: '/console/projects',
  log: '/console/log',
  empty: '/console/p/empty',
  ...Object.fromEntries(
    [
      'open',
      'waits',
      'waiting',
      'writebacks',
      'report',
      'streams',
      'budget',
      'service',
      'schema',
      ...periodTableNames,
    ].map((name) => [`empty-${name}`, `/console/p/empty/${name}`]),
  ),
}
/** Of a file that is only looked at. */
const readOnly: Readonly<Record<string, string>> = {
  'file-overview': '',
  'file-conversation': `/conversations/${conversation}`,
  'file-batch': '/batches/parcels',
  'file-uncertain': `/writebacks/${uncertain}`,
}
const chosen = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).filter(([name]) => only.length === 0 || only.includes(name))
/** Of these the beginning says enough. */
const long: ReadonlySet<string> = new Set([
  'batch',
  'batch-sending',
  'batch-stopped',
  'confirm',
  'cancel',
  'drafted',
  'keys',
])

/** What a person does there before the picture. */
const steps: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'import-mistakes': (page) =>
    importFile(page, 'conversation_id,content,sender_name\n1,,Ann\n2,Hello,\n'),
  'import-columns': (page) => importFile(page, 'Kunde,Worte\nZoë,Your parcel is on its way.\n'),
  keys: (page) => page.keyboard.press('?'),
  run: (page) => page.locator('main td a').first().click(),
  drafted: async (page) => {
    await page.getByLabel('Text').fill(`It is on its way (${Date.now()}).`)
    await page.getByRole('button', { name: 'Add to my drafts' }).click()
    await page.getByRole('status').filter({ hasText: 'Added' }).waitFor()
  },
}

async function importFile(page: Page, text: string): Promise<void> {
  const file = { name: 'replies.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
  await page.getByLabel('The file').setInputFiles(file)
  await page.getByRole('button', { name: 'Import as drafts' }).click()
  await page.locator('.problem').waitFor()
}
const looks = {
  light: { viewport: { width: 1280, height: 860 } },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 800 } },
  'phone-dark': { viewport: { width: 390, height: 800 }, colorScheme: 'dark' },
} as const

let taken = 0
for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(`${http.address}/console/sign-in`)
  const picture = async (name: string) => {
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: !long.has(name) })
    taken += 1
  }
  await picture('sign-in')
  await page.getByLabel('Your name').fill('ann')
  await page.getByLabel(/token/i).fill('token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  const take = async (name: string, address: string) => {
    await page.goto(address)
    while ((await page.locator('[data-counting], main a:text-is("Look again")').count()) > 0)
      await page.reload()
    await steps[name]?.(page)
    await picture(name)
  }
  for (const [name, path] of chosen(screens)) await take(name, http.address + path)
  const file = { databaseUrl, databaseSetting: path, config: null, port: 0, log, now: Date.now }
  await serveStandAlone(file, async (link) => {
    await page.goto(link)
    for (const [name, below] of chosen(readOnly))
      await take(name, new URL(`/console/p/${projectId}${below}`, link).href)
  })
  await context.close()
}
await browser.close()
await http.close()
await reads.close()
rmSync(work, { recursive: true })
process.stdout.write(`${folder}: ${taken} pictures\n`)

type Filled = Readonly<
  Record<'projectId' | 'conversation' | 'visitor' | 'answered' | 'uncertain', string>
>

/**
 * The demo sends few requests and queues nothing that waits, so it gets some more. Returns ids to
 * show.
 */
async function fill(url: string): Promise<Filled> {
  const warehouse = await openWarehouse(url)
  const [known] = await listMirroredProjects(warehouse.db)
  const projectId = known?.id ?? ''
  await fillBudget(warehouse, projectId)
  await recordWorkerHeartbeat(
    warehouse.db,
    { id: 'worker', queue: 'embedded', configuration: '' },
    Date.now(),
  )
  // The longest one whose characters the fonts of the browser have.
  const [row] = await warehouse.query(`select c.id, c.visitor_id from conversations as c
    join visitors as v on v.id = c.visitor_id join messages as m on m.conversation_id = c.id where c.handled_at is not null
    group by c.id, c.visitor_id having max(v.name || coalesce(m.content, '') glob '*[^ -ӿ]*') = 0
    order by count(distinct m.sender_type) desc, count(*) desc limit 1`)
  const uncertain = await queueBatch(warehouse, projectId)
  const [sent] = await warehouse.query(`select visitor_id from conversations where id =
    (select conversation_id from writebacks where id = '${uncertain}')`)
  await warehouse.close()
  return {
    projectId,
    conversation: String(row?.id),
    visitor: String(row?.visitor_id),
    answered: String(sent?.visitor_id),
    uncertain,
  }
}

/**
 * Batches in each state with replies and flags for those who wait, and a reply whose outcome is not
 * known.
 */
async function queueBatch(warehouse: Warehouse, projectId: string): Promise<string> {
  const waiting = await warehouse.query(
    'select id from conversations where handled_at is null order by last_message_at desc limit 24',
  )
  const common = { ref: null, expect: null, expiresAt: null }
  const payload = {
    content: 'Your parcel is on its way: it arrives on Tuesday.',
    sender_name: 'Ann',
  }
  const requests = waiting.flatMap(({ id }) => [
    { ...common, operation: 'message', target: String(id), payload } as const,
    { ...common, operation: 'handled', target: String(id), payload: { handled: true } } as const,
  ])
  const [reply] = await warehouse.query(`select conversation_id, content, created_at from messages
    where kind = 'utterance' and sender_type = 'agent' order by created_at desc limit 1`)
  const outbox = createOutbox(warehouse.projectDb(projectId))
  const titles = {
    sending: 'Delay',
    done: 'Refunds',
    stopped: 'Newsletter',
    parcels: 'Parcels of Monday',
  }
  for (const [batchId, title] of Object.entries(titles)) {
    const batch = { title, source: `${batchId}.csv`, note: 'Agreed with logistics.', reverts: null }
    const options = { status: 'draft', batchId, createdBy: 'olga', expiresAt: null, batch } as const
    await outbox.enqueue([requests], options)
  }
  await warehouse.query(
    `update writebacks set status = 'queued' where batch_id in ('sending', 'done')`,
  )
  await warehouse.query(`update writebacks set status = 'failed', error = 'the conversation is closed for replies'
    where batch_id in ('sending', 'done') and seq % 7 = 0`)
  await warehouse.query(`update writebacks set status = 'succeeded'
    where status = 'queued' and (batch_id = 'done' or (batch_id = 'sending' and seq % 3 = 0))`)
  await warehouse.query(`update writeback_batches set stopped_at = '${reply?.created_at}', stopped_by = 'ann'
    where id = 'stopped'`)
  const content = JSON.stringify({ content: reply?.content, sender_name: 'Ann' }).replaceAll(
    "'",
    "''",
  )
  await warehouse.query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status)
    values ('${projectId}', 'uncertain', 'message', '${reply?.conversation_id}', '${content}', 'draft')`)
  await warehouse.query(`update writebacks set status = 'uncertain', sent_at = '${reply?.created_at}'
    where id = 'uncertain'`)
  return 'uncertain'
}

async function fillBudget(warehouse: Warehouse, project: string): Promise<void> {
  const now = Math.floor(Date.now() / 60_000) * 60_000
  const minutes = Array.from({ length: 58 }, (_, ago) => ({
    minute: now - (ago + 1) * 60_000,
    wave: Math.sin(ago / 6),
  }))
  for (const { minute, wave } of minutes) {
    const common = { project, minute, throttled: 0 }
    await addMinutes(warehouse.db, [
      { ...common, priority: 'fresh', requests: Math.round(160 + 120 * wave) },
      { ...common, priority: 'backfill', requests: Math.round(120 - 90 * wave) },
      { ...common, priority: 'write', requests: Math.round(40 + 30 * wave) },
    ])
  }
}
