/**
 * The image and the fleet as they are deployed: mounts, users, rights, limits and signals are
 * tried. There is no engine, and no network of its own: `notTried` says what of an entry of
 * docker-compose.yml is only read (test/deploy/deploy.test.ts).
 */

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { openWarehouse } from '../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  buildImage,
  type ComposeService,
  containerOf,
  type Image,
  startContainer,
} from '../support/container.ts'
import { startPrivatePostgres } from '../support/postgres-server.ts'
import { freePort } from '../support/private-server.ts'
import { startPrivateRedis } from '../support/redis-server.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { waitUntil } from '../support/wait.ts'

const root = new URL('../..', import.meta.url).pathname
const worker: ComposeService = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
  merge: true,
}).services.worker

const tried = new Set([
  ...[
    'environment',
    'read_only',
    'cap_drop',
    'security_opt',
    'tmpfs',
    'volumes',
    'mem_limit',
    'pids_limit',
  ],
  ...['stop_grace_period', 'image', 'build'],
])
const notTried: Readonly<Record<string, string>> = {
  restart: 'the engine starts a worker again that ended',
  deploy: 'the engine starts several; here the test starts two',
  networks: 'containers here share the network of this machine',
  depends_on: 'the servers are there before the workers',
  logging: 'the engine writes and rotates the log',
}

let image: Image
beforeAll(async () => {
  const atEnd: (() => void)[] = []
  image = await buildImage(createTempFolder((remove) => void atEnd.push(remove)))
  return () => {
    for (const remove of atEnd) remove()
  }
}, 600_000)

const size = { conversations: 30, visitors: 20, calls: 10 }

async function serve(): Promise<Sandbox> {
  const sandbox = await startSandbox({ size })
  onTestFinished(sandbox.stop)
  return sandbox
}

/** The health check of the image, at the port of the test. */
const healthcheckAt = (port: number) =>
  image.healthcheck.map((part) => part.replace('8484', String(port)))

const isReady = async (port: number) => {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
  return answer?.status === 200
}

type Container = Awaited<ReturnType<typeof startContainer>>

async function waitUntilReady(container: Container, port: number): Promise<void> {
  const failed = container.ended.then((code) => {
    throw new Error(`the worker ended with ${code}: ${container.output()}`)
  })
  await Promise.race([waitUntil(() => isReady(port)), failed])
  failed.catch(() => {})
}

async function expectStop(container: Container): Promise<void> {
  const graceMs = Number(/^(\d+)s$/.exec(worker.stop_grace_period)?.[1]) * 1000
  const since = performance.now()
  container.stop()
  expect([await container.ended, container.output()]).toEqual([
    0,
    expect.stringContaining('worker.stopping'),
  ])
  expect(performance.now() - since).toBeLessThan(graceMs)
}

/** Which of these files a process of the container can write. */
function writable(container: Container, files: readonly string[]): readonly string[] {
  const script = 'for file; do if (: > "$file") 2> /dev/null; then echo "$file"; fi; done'
  return container
    .exec('sh', '-c', script, 'sh', ...files)
    .split('\n')
    .filter((line) => line !== '')
}

const foreignFiles = [
  '/x',
  '/app/x',
  '/app/bin/deskmirror.js',
  '/app/node_modules/x',
  '/etc/x',
  '/usr/x',
  '/run/x',
]

/** The folder of docker-compose.yml, with the example of a configuration for these servers. */
async function prepareFleet(sandbox: Sandbox) {
  const folder = createTempFolder()
  const [postgres, redis] = [
    await startPrivatePostgres(),
    await startPrivateRedis({ durable: false }),
  ]
  onTestFinished(postgres.stop)
  onTestFinished(redis.stop)
  cpSync(join(root, 'deploy'), join(folder, 'deploy'), {
    recursive: true,
    filter: (path) => !path.endsWith('/secrets'),
  })
  execFileSync('sh', [join(folder, 'deploy/make-secrets.sh')], { stdio: 'pipe' })
  const secrets = { 'warehouse-url': postgres.url, 'queue-url': redis.url, 'shop-key': sandbox.key }
  for (const [name, value] of Object.entries(secrets))
    writeFileSync(join(folder, 'deploy/secrets/worker', name), value, { mode: 0o644 })
  const example = readFileSync(join(root, 'deploy/config/deskmirror.yaml.example'), 'utf8')
  const config = example
    .replace(/^base_url: .*$/m, `base_url: ${sandbox.baseUrl}`)
    .replace(/project_id: .*$/m, `project_id: ${sandbox.projectId}`)
  writeFileSync(join(folder, 'deploy/config/deskmirror.yaml'), config)
  return { folder, databaseUrl: postgres.url }
}

test('everything in the entry of a worker is tried here, or named as not tried', () => {
  const unknown = Object.keys(worker).filter((key) => !tried.has(key) && !(key in notTried))
  expect(unknown).toEqual([])
})

test('the files of the image belong to root, and its working folder to its user', () => {
  const at = (path: string) => {
    const { uid, gid, mode } = statSync(join(image.rootFolder, path))
    return [uid, gid, (mode & 0o777).toString(8)]
  }
  expect([image.user, image.workingFolder, image.stopSignal]).toEqual([1000, '/data', 'SIGTERM'])
  expect(at('/data')).toEqual([1000, 1000, '750'])
  for (const path of ['/app', '/app/bin/deskmirror.js', '/app/node_modules/fastify'])
    expect(at(path)[0]).toBe(0)
})

test('two workers of the fleet become ready, mirror the service, and stop in time', {
  timeout: 600_000,
}, async () => {
  const sandbox = await serve()
  const { folder, databaseUrl } = await prepareFleet(sandbox)
  const start = async () => {
    const port = await freePort()
    const options = containerOf(worker, folder)
    const environment = { ...options.environment, DESKMIRROR_HTTP: `127.0.0.1:${port}` }
    const container = await startContainer(image, { ...options, environment })
    return { port, container }
  }
  const workers = [await start(), await start()]
  for (const { container, port } of workers) await waitUntilReady(container, port)

  const [first] = workers
  const { container, port } = first!
  for (const it of workers) it.container.exec(...healthcheckAt(it.port))
  expect(() => container.exec(...healthcheckAt(1))).toThrow()
  const status = container.exec('cat', '/proc/1/status')
  expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
  expect(status).toMatch(/^CapBnd:\t0000000000000000$/m)
  expect(status).toMatch(/^NoNewPrivs:\t1$/m)
  const foreign = [...foreignFiles, '/etc/deskmirror/x', '/run/secrets/x']
  expect(writable(container, ['/data/x', '/tmp/x', ...foreign])).toEqual(['/data/x', '/tmp/x'])

  // As the guide says, in a terminal of its own.
  const warehouse = await openWarehouse(databaseUrl, { access: 'read' })
  onTestFinished(warehouse.close)
  const counted = async () =>
    Number((await warehouse.query('select count(*) as n from messages'))[0]?.['n'] ?? 0)
  await waitUntil(async () => (await counted()) > 30)
  expect(container.exec('node', '/app/bin/deskmirror.js', 'status')).toContain('messages')
  expect(await isReady(port)).toBe(true)

  for (const it of workers) await expectStop(it.container)
})

test('a worker whose working folder belongs to root says so, and ends with 2', async () => {
  const { folder } = await prepareFleet(await serve())
  const container = await startContainer(image, {
    ...containerOf(worker, folder),
    tmpfs: ['/tmp', '/data'],
  })
  expect(await container.ended).toBe(2)
  expect(container.output()).toContain(
    'cannot work in the folder /data: this user may not enter it',
  )
})

/** As an engine makes a volume: with the owner and the rights of the folder that it covers. */
function createVolume(): string {
  const volume = join(createTempFolder(), 'volume')
  mkdirSync(volume)
  execFileSync('cp', ['--archive', join(image.rootFolder, 'data/.'), volume])
  execFileSync('chown', ['--reference', join(image.rootFolder, 'data'), volume])
  execFileSync('chmod', ['--reference', join(image.rootFolder, 'data'), volume])
  return volume
}

test('one container with SQLite in a volume works as the guide runs it, and again with the same volume', async () => {
  const sandbox = await serve()
  const keys = createTempFolder()
  execFileSync('chmod', ['755', keys])
  writeFileSync(join(keys, 'api-key'), sandbox.key, { mode: 0o644 })
  const volume = createVolume()
  for (let runs = 1; runs <= 2; runs += 1) {
    const port = await freePort()
    const container = await startContainer(image, {
      readOnly: true,
      capabilities: [],
      noNewPrivileges: true,
      tmpfs: ['/tmp'],
      volumes: [`${volume}:/data`, `${keys}:/run/secrets:ro`],
      environment: {
        DESKMIRROR_HTTP: `127.0.0.1:${port}`,
        DESKMIRROR_HTTP_TOKEN: 'a-token-of-the-test',
        DESKMIRROR_BASE_URL: sandbox.baseUrl,
        DESKMIRROR_PROJECT_ID: sandbox.projectId,
        DESKMIRROR_API_KEY_FILE: '/run/secrets/api-key',
      },
    })
    await waitUntilReady(container, port)
    container.exec(...healthcheckAt(port))
    expect(writable(container, ['/tmp/x', ...foreignFiles])).toEqual(['/tmp/x'])
    expect(container.exec('stat', '--format=%U %a', '/data/deskmirror.db')).toBe('node 600\n')
    expect(container.exec('node', '/app/bin/deskmirror.js', 'status')).toContain('messages')
    await expectStop(container)
  }
})
