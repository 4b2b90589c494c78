/**
 * Servers that are addressed by an IPv6 address, with a certificate for it: the service, Postgres
 * and Redis.
 */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { checkServerIdentity } from '../../src/warehouse/server-identity.ts'
import { cleanEnvironment, runDeskmirror } from '../cli/run-process.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { createServerFolder, freePort, unprivilegedUser } from '../support/private-server.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { createTempFolder } from '../support/temp-folder.ts'

test('a certificate for an IPv6 address is that of the host, however the address is written', () => {
  const certificateOf = (subjectaltname: string) =>
    ({ subject: {}, subjectaltname }) as unknown as Parameters<typeof checkServerIdentity>[1]
  const full = 'DNS:localhost, IP Address:0:0:0:0:0:0:0:1'
  expect(checkServerIdentity('::1', certificateOf(full))).toBeUndefined()
  expect(
    checkServerIdentity('2001:db8::1', certificateOf('IP Address:2001:DB8:0:0:0:0:0:1')),
  ).toBeUndefined()
  expect(checkServerIdentity('localhost', certificateOf(full))).toBeUndefined()
  expect(checkServerIdentity('::2', certificateOf(full))).toBeInstanceOf(Error)
  // Node.js puts a name in quotes that could be read as several.
  const forged = 'DNS:"evil.example, IP Address:0:0:0:0:0:0:0:1, x"'
  expect(checkServerIdentity('::1', certificateOf(forged))).toBeInstanceOf(Error)
})

/** Readable for a server's user, as Postgres and Redis read them themselves. */
function makeCertificate(address: string, ...users: readonly string[]) {
  const owner = unprivilegedUser(...users, 'nobody')
  const folder = createServerFolder('certificate', owner)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=IP:${address}`]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'pipe',
  })
  chmodSync(key, 0o600)
  if (owner !== undefined) for (const file of [key, cert]) chownSync(file, owner.uid, owner.gid)
  return { key, cert }
}

async function startServers(address: string) {
  const service = makeCertificate(address)
  const sandbox = await startSandbox({ size: { conversations: 1, visitors: 1, calls: 1, days: 1 } })
  const proxy = createServer(
    { key: readFileSync(service.key), cert: readFileSync(service.cert) },
    (socket) => {
      const inner = connect(sandbox.port, '127.0.0.1')
      for (const one of [socket, inner]) one.on('error', () => {})
      socket.pipe(inner).pipe(socket)
    },
  )
  const servicePort = await new Promise<number>((resolve) =>
    proxy.listen(0, '::1', () => resolve((proxy.address() as { readonly port: number }).port)),
  )
  const ofPostgres = makeCertificate(address, 'postgres')
  const settings = {
    ssl: 'on',
    ssl_cert_file: ofPostgres.cert,
    ssl_key_file: ofPostgres.key,
    listen_addresses: '::1',
  }
  const postgres = await startPrivatePostgres(settings)
  const ofRedis = makeCertificate(address, 'redis')
  const redisPort = await freePort()
  const redis = await startPrivateRedis({
    durable: false,
    settings: {
      bind: '::1',
      port: 0,
      'tls-port': redisPort,
      'tls-cert-file': ofRedis.cert,
      'tls-key-file': ofRedis.key,
      'tls-ca-cert-file': ofRedis.cert,
      'tls-auth-clients': 'no',
    },
  })
  onTestFinished(async () => {
    proxy.close()
    for (const server of [sandbox, postgres, redis]) await server.stop()
  })
  const trusted = join(createTempFolder(), 'trusted.pem')
  const all = [service, ofPostgres, ofRedis].map(({ cert }) => readFileSync(cert, 'utf8'))
  writeFileSync(trusted, all.join(''))
  const environment = {
    DESKMIRROR_BASE_URL: `https://[::1]:${servicePort}`,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
    DESKMIRROR_DATABASE_URL: `${postgres.url.replace('127.0.0.1', '[::1]')}?sslmode=verify-full`,
    DESKMIRROR_QUEUE_URL: `rediss://[::1]:${redisPort}`,
    NODE_EXTRA_CA_CERTS: trusted,
  }
  return { environment, folder: createTempFolder() }
}

/** The connections of jobs, which `check` does not open. */
async function openQueue(environment: Readonly<Record<string, string>>) {
  const file = new URL('../../jobs/backends/bullmq/redis.ts', import.meta.url).href
  const options = { prefix: 'test', connectTimeoutMs: 2000, requestTimeoutMs: 2000 }
  const script = `const { openRedis } = await import('${file}')
    const opened = await openRedis('${environment['DESKMIRROR_QUEUE_URL']}', ${JSON.stringify(options)})
    await opened.ping()
    await opened.close()
    console.log('opened')`
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: cleanEnvironment(environment),
  })
  return run.then(
    ({ stdout }) => stdout.trim(),
    (error: Error) => error.message,
  )
}

test('the service, Postgres and Redis can have certificates for IPv6 addresses', async () => {
  const { environment, folder } = await startServers('::1')
  const { exit, out } = await runDeskmirror(['check'], { cwd: folder, env: environment })
  expect(out).toContain('the service answers')
  expect(out).toMatch(/✓ queue .*Redis answers at rediss:/)
  expect(out).toMatch(/✓ warehouse/)
  expect(exit).toBe(0)
  expect(await openQueue(environment)).toBe('opened')
})

test('and are refused with one for another address', async () => {
  const { environment, folder } = await startServers('::2')
  const { exit, out } = await runDeskmirror(['check'], { cwd: folder, env: environment })
  expect(out).toMatch(/certificate/)
  expect(exit).not.toBe(0)
  expect(await openQueue(environment)).toContain('does not match certificate')
})
