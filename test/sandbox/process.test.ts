/**
 * The sandbox in its own process: started by the command, controlled over HTTP, stopped by a signal
 * or by request.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { cleanEnvironment, launcher, runDeskmirror } from '../cli/run-process.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const runner = `
  const { command } = await import(${JSON.stringify(new URL('../../src/cli/sandbox.ts', import.meta.url).href)})
  await command().parseAsync(process.argv.slice(1), { from: 'user' })
`
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
let child: ChildProcess
afterEach(() => {
  child.kill('SIGKILL')
})

async function start(...flags: string[]): Promise<Record<string, string>> {
  child = spawn(node, ['--input-type=module', '--eval', runner, '--', ...flags, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    if (text.includes('\n')) break
  }
  return JSON.parse(text)
}

const control = async (origin: string, path: string, body?: unknown) => {
  const response = await fetch(
    `${origin}/_sandbox/${path}`,
    body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
  )
  const text = await response.text()
  return { status: response.status, text, json: path.startsWith('truth') ? null : JSON.parse(text) }
}

test('the example of its help and of its guide works when it is pasted into a shell', async () => {
  const { out: help } = await runDeskmirror(['sandbox', '--help'], { cwd: '/' })
  const example =
    /^A sync against it.*\n((?: {2}.*\n)+)/m.exec(help)?.[1]?.replaceAll(/^ {2}(?:\$ )?/gm, '') ??
    ''
  const cwd = createTempFolder()
  symlinkSync(launcher, join(cwd, 'deskmirror'))
  const env = cleanEnvironment({ PATH: `${cwd}:${process.env.PATH}` })
  const size = 'deskmirror sandbox --conversations 2 --visitors 1 --calls 1 --days 1'
  const pasted = example.replace('deskmirror sandbox', size).replace('--port 4010', '--port 0')
  child = spawn('sh', ['-c', `${pasted}\nended=$?; kill $!; exit $ended`], {
    cwd,
    env,
    stdio: 'ignore',
    detached: true,
  })
  onTestFinished(() => void killGroup(child))
  expect(await once(child, 'exit')).toEqual([0, null])
  const guide = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8')
  expect(guide.includes(example), 'the guide has the same example').toBe(true)
})

/** A group that has ended is no failure. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {}
}

test('it prints what a sync needs, is controlled over HTTP, and ends on request', async () => {
  const flags = [
    '--conversations',
    '12',
    '--messages',
    '2-4',
    '--prefix',
    'v1',
    '--rate',
    '50/10s',
    '--key',
    'svc_live_mine',
  ]
  const settings = await start(
    ...flags,
    '--switch',
    'messages.paging=before',
    '--switch',
    'ids.big=true',
  )
  const { origin, pathname } = new URL(settings.DESKMIRROR_BASE_URL!)
  expect([pathname, settings.DESKMIRROR_API_KEY]).toEqual(['/v1', 'svc_live_mine'])
  expect([settings.DESKMIRROR_RATE, settings.DESKMIRROR_WRITE_RATE]).toEqual(['50/10s', '50/10s'])
  const list = await fetch(
    `${settings.DESKMIRROR_BASE_URL}/public/projects/${settings.DESKMIRROR_PROJECT_ID}/conversations`,
    {
      headers: { 'x-api-key': 'svc_live_mine' },
    },
  )
  const [{ id }] = ((await list.json()) as { data: { items: { id: string }[] } }).data.items as [
    { id: string },
  ]

  expect((await control(origin, 'switches')).json).toMatchObject({
    'rate.limit': 50,
    'rate.window': 10,
    'messages.paging': 'before',
  })
  expect((await control(origin, 'switches', { hasMore: 'full' })).json.hasMore).toBe('full')
  expect(
    (await control(origin, 'mutate', { do: 'visitorWrites', with: [id, 'Hello?'] })).json.content,
  ).toBe('Hello?')
  const messages = (await control(origin, 'truth/messages')).text.trimEnd().split('\n')
  expect(messages.length).toBeGreaterThan(24)
  expect(messages[0]).toContain('"id":9007199254740994,')
  expect((await control(origin, 'churn', { n: 5, seed: 1 })).json.changes).toHaveLength(5)
  expect((await control(origin, 'counts')).json).toMatchObject({
    total: 1,
    byOperation: { listConversations: 1 },
  })
  expect((await control(origin, 'log')).json).toHaveLength(1)
  await control(origin, 'reset-log', {})
  expect((await control(origin, 'log')).json).toEqual([])
  expect((await control(origin, 'ledger')).json).toEqual([])

  for (const [path, body] of [
    ['mutate', { do: 'toString' }],
    ['mutate', { do: 'visitorWrites', with: ['nobody'] }],
    ['switches', { 'rate.kind': 'never' }],
    ['fail', { kind: 'flood' }],
    ['churn', { n: 1, seed: 1, kinds: ['explode'] }],
    ['truth/secrets', undefined],
  ] as const) {
    expect(
      (
        await fetch(
          `${origin}/_sandbox/${path}`,
          body && { method: 'POST', body: JSON.stringify(body) },
        )
      ).status,
    ).toBe(400)
  }
  expect((await control(origin, 'nothing')).status).toBe(404)
  await control(origin, 'shutdown', {})
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test('without a limit it prints a rate that a mirror never reaches', async () => {
  expect(await start('--rate', 'off')).toMatchObject({
    DESKMIRROR_RATE: '1000000000/60s',
    DESKMIRROR_WRITE_RATE: '1000000000/60s',
  })
})

test('it ends on SIGTERM', async () => {
  expect(await start()).toMatchObject({
    DESKMIRROR_RATE: '600/60s',
    DESKMIRROR_WRITE_RATE: '120/60s',
  })
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})
