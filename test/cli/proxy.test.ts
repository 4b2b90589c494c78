/** A day of use behind a proxy: everything is equal, each write is done once, no secret is shown. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { startHttpProxy, startTlsFront, type TunnelCut } from '../support/http-proxy.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { issueCertificate } from '../support/tls.ts'
import { runInProcess } from './run-in-process.ts'
import { runDeskmirror } from './run-process.ts'

/** No server of this name can be reached directly. */
const host = 'service.invalid'
const user = 'ann:Tr0ub4dor/3'

async function startWorld() {
  const size = { conversations: 6, visitors: 5, calls: 2, days: 2 }
  const service = await startSandbox({ size, prefix: '/v1', switches: { 'rate.kind': 'off' } })
  onTestFinished(() => service.stop())
  const pair = issueCertificate(host)
  const port = await startTlsFront(service.port, pair)
  const cuts: (TunnelCut | null)[] = []
  const proxy = await startHttpProxy({ port, user, cutOf: () => cuts.shift() ?? null })
  const folder = createTempFolder()
  const env = {
    DESKMIRROR_BASE_URL: `https://${host}/v1`,
    DESKMIRROR_PROJECT_ID: service.projectId,
    DESKMIRROR_API_KEY: service.key,
    DESKMIRROR_RATE: '60000/1s',
    DESKMIRROR_WRITE_RATE: '60000/1s',
    DESKMIRROR_LOG_LEVEL: 'trace',
    HTTPS_PROXY: `http://ann:Tr0ub4dor%2F3@127.0.0.1:${proxy.port}`,
  }
  const before = getCACertificates('default')
  setDefaultCACertificates([pair.cert])
  onTestFinished(() => setDefaultCACertificates(before))
  let shown = ''
  const run = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const result = await runInProcess(args, { cwd: folder, env: { ...env, ...more } })
    shown += result.out + result.err
    return result
  }
  return { service, proxy, cuts, folder, env, pair, run, shown: () => shown }
}

test('check, sync, verify and push behind a proxy', async () => {
  const { service, proxy, cuts, folder, env, run, shown } = await startWorld()
  const check = await run(['check'])
  expect(check.out).toContain(
    `the service answers through the proxy 127.0.0.1:${proxy.port} (request `,
  )
  expect(check.exit).toBe(0)
  const notified = await run(['check', '--notify'], {
    DESKMIRROR_NOTIFY: `https://${host}/hooks/hunter2X`,
  })
  expect(notified.out).toMatch(/✗ notify +the address of `notify` answers 404\n/)
  expect(shown()).not.toMatch(/hooks|hunter2X/)
  expect((await run(['sync', '--quiet'])).exit).toBe(0)
  const verified = await run(['verify', '--quiet', '--json'])
  expect(JSON.parse(verified.out).projects[0].differences).toEqual([])

  const [conversation] = service.truth('conversations')
  const add = ['writeback', 'add', 'message', '--conversation', conversation?.id ?? '']
  expect((await run([...add, '--sender-name', 'Ann', '--content', 'One reply only'])).exit).toBe(0)
  cuts.push({ at: 'request' }, { at: 'answer' })
  cuts.push({ at: 'piece', from: 'client', n: 0, isPassedOn: false })
  cuts.push(null, { at: 'request' }, { at: 'piece', from: 'server', n: 0, isPassedOn: false })
  const pushed = await run(['push', '--quiet', '--json'])
  expect(JSON.parse(pushed.out).projects[0].settled).toEqual({ succeeded: 1 })
  const replies = [...service.truth('messages')].filter(
    ({ row }) => Object(row).content === 'One reply only',
  )
  expect(replies).toHaveLength(1)
  expect(cuts).toEqual([])

  expect((await run(['status'])).exit).toBe(0)
  const wrong = await run(['check'], { HTTPS_PROXY: env.HTTPS_PROXY.replace('Tr0', 'no') })
  expect(wrong.out).toMatch(
    /✗ connection.*refuses the user or the password \(407\)\n.*→ correct HTTPS_PROXY/,
  )
  expect(wrong.exit).toBe(2)
  const direct = await run(['check'], { NO_PROXY: host })
  expect(direct.out).toMatch(/✗ connection.*the host name (is unknown|cannot be resolved)/)

  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  for (const text of [shown(), ...files])
    for (const part of ['Tr0ub4dor', 'noub4dor', Buffer.from(user).toString('base64')])
      expect(text.includes(part)).toBe(false)
})

test('init connects a project through the proxy; the certificate is trusted by the usual variable', async () => {
  const { service, proxy, pair, folder, env } = await startWorld()
  writeFileSync(join(folder, 'key'), service.key)
  const options = ['--base-url', env.DESKMIRROR_BASE_URL, '--project-id', service.projectId]
  const init = (more: Readonly<Record<string, string>>) =>
    runDeskmirror(['init', ...options, '--api-key-file', 'key'], {
      cwd: folder,
      env: { HTTPS_PROXY: env.HTTPS_PROXY, ...more },
    })
  const untrusted = await init({})
  expect(untrusted.out).toMatch(
    /the proxy may have put its own in its place.*\n.*→ set NODE_EXTRA_CA_CERTS/,
  )
  expect(untrusted.exit).toBe(2)
  const { out, exit } = await init({ NODE_EXTRA_CA_CERTS: pair.certFile })
  expect(out).toContain(`the service answers through the proxy 127.0.0.1:${proxy.port}`)
  expect(exit).toBe(0)
  expect(readFileSync(join(folder, '.env'), 'utf8')).not.toContain('Tr0ub4dor')
})
