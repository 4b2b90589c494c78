/**
 * Redis as a cluster and behind sentinels, with TLS and a user of its own: jobs, schedules and
 * budgets outlive the death of a master, and each wrong address has a sentence of its own.
 */

import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { openRedisRecords } from '../../src/service/rate-limit/redis-record.ts'
import { UserError } from '../../src/values/user-error.ts'
import { startTestServer, token, tokenOptions } from '../http/test-server.ts'
import { type RedisGroup, startRedisCluster, startRedisSentinels } from '../support/redis-groups.ts'
import { issueCertificate } from '../support/tls.ts'
import { waitFor, waitUntil } from '../support/wait.ts'
import { silentLog, startTestRedis } from './queue-fixtures.ts'

const options = { log: silentLog, connectTimeoutMs: 0 }

/** The error of an address that cannot be used. It shows no password. */
async function refusal(url: string): Promise<UserError> {
  const error = await openBackend(url, options).then(
    (backend) => backend.close(),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UserError)
  expect(`${error}${JSON.stringify(error)}`).not.toMatch(/p@ss|p%40ss/)
  return error as UserError
}

async function expectBudgetRefused(url: string): Promise<void> {
  const records = openRedisRecords(url)
  const error = await records
    .record('x')
    .read()
    .catch((reason: unknown) => reason)
  records.close()
  expect(error).toMatchObject({
    exitCode: 2,
    next: expect.stringContaining('DESKMIRROR_QUEUE_URL'),
  })
}

let cluster: RedisGroup
let sentinels: RedisGroup
beforeAll(async () => {
  const pair = issueCertificate('localhost', afterAll)
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, pair.cert])
  afterAll(() => setDefaultCACertificates(before))
  ;[cluster, sentinels] = await Promise.all([
    startRedisCluster({ tls: pair }),
    startRedisSentinels(),
  ])
})
afterAll(() => Promise.all([cluster.stop(), sentinels.stop()]))

const groups = [
  { name: 'a cluster', of: () => cluster, prefix: '{deskmirror}:' },
  { name: 'sentinels', of: () => sentinels, prefix: 'deskmirror:' },
]

// Before a server is killed.
test('the address of any server of a cluster is refused for the budget, whichever keys it has', async () => {
  for (const port of cluster.ports) {
    // A user with all keys: the other one may not use those of a single server.
    const administrator = cluster.admin(port)
    const { password } = administrator.options
    await expectBudgetRefused(`rediss://:${password}@localhost:${port}/0`)
    administrator.disconnect()
  }
})

describe.for(groups)('$name', ({ of, prefix }) => {
  test('jobs, schedules and budgets go on when the master dies; the budget is known to have lost something', async () => {
    const group = of()
    const records = openRedisRecords(group.url)
    onTestFinished(records.close)
    const record = records.record('spent')
    await record.compareAndSet(await record.read(), 'before')
    await records.numbers.raise(['warehouse'], 7)
    const backend = await openBackend(group.url, { log: silentLog, installation: 'i' })
    onTestFinished(() => backend.close())
    expect(backend.warnings).toEqual([])
    const done: string[] = []
    backend.worker<{ readonly n: number }>('work', async ({ data }) => {
      done.push(data.n === 0 ? 'tick 0' : `job ${data.n}`)
      return { do: 'done' }
    })
    const queue = backend.queue<{ readonly n: number }>('work')
    const tick = { id: 's', recurrence: { every: 400, offset: 1 }, job: 'tick', data: { n: 0 } }
    await backend.ensureSchedules(queue, [tick])
    const add = (n: number) => queue.addBulk([{ name: 'job', data: { n } }])
    await add(1)
    await waitUntil(() => done.includes('job 1') && done.includes('tick 0'))
    // Read while the master dies, and before another one is chosen: none is answered by a guess.
    const killed = group.killMaster()
    const added = add(2).then(
      () => true,
      () => false,
    )
    await killed
    const reading = await waitFor(() => record.read())
    expect(reading.restarted).toBe(true)
    const ticks = done.length
    await waitFor(() => add(3))
    await waitUntil(() => done.includes('job 3') && done.length > ticks + 3)
    await backend.ping()
    const board = { prefix: '/queues', auth: 'token', load: backend.loadBoard! } as const
    const { ask } = await startTestServer({ ...tokenOptions, plugins: [board] })
    const shown = await ask('/queues/api/queues', { headers: { authorization: `Bearer ${token}` } })
    expect(JSON.parse(shown.text).queues).toMatchObject([{ name: 'work.i' }])
    expect(await records.numbers.read('warehouse')).toBe(7)
    if (await added) expect(done.filter((job) => job === 'job 2').length).toBeGreaterThanOrEqual(1)
    for (const key of await group.keys()) expect(key.startsWith(prefix)).toBe(true)
  })
})

describe('an address that is not right', () => {
  const other = (group: RedisGroup, change: (url: string) => string) => change(group.url)

  test.for<[string, () => string | Promise<string>, RegExp, RegExp, 1 | 2]>([
    [
      'a wrong password of a cluster',
      () => other(cluster, (url) => url.replace('p%40ss', 'no')),
      /WRONGPASS/,
      /check user, password/,
      2,
    ],
    [
      'no password of a cluster',
      () => other(cluster, (url) => url.replace(/\/\/.*@/, '//')),
      /NOAUTH/,
      /./,
      2,
    ],
    [
      'a wrong password behind sentinels',
      () => other(sentinels, (url) => url.replace('p%40ss', 'no')),
      /WRONGPASS/,
      /check user, password/,
      2,
    ],
    [
      'a wrong name of the master',
      () => other(sentinels, (url) => url.replace('mymaster', 'other')),
      /./,
      /correct the name of the master/,
      2,
    ],
    [
      'a single server of a cluster',
      () => other(cluster, (url) => `${url.replace('+cluster', '').replace(/,.*/, '')}/0`),
      /^it is part of a cluster$/,
      /write redis\+cluster:\/\//,
      2,
    ],
    [
      'a cluster of a single server',
      async () => (await startTestRedis()).replace('redis:', 'redis+cluster:'),
      /cluster support disabled/,
      /write redis:\/\//,
      2,
    ],
    [
      'sentinels that are servers',
      async () => `${(await startTestRedis()).replace('redis:', 'redis-sentinel:')}/mymaster`,
      /unknown command/,
      /name the sentinels/,
      2,
    ],
    [
      'a cluster without TLS',
      () => other(cluster, (url) => url.replace('rediss', 'redis')),
      /./,
      /^start its servers/,
      1,
    ],
  ])('%s', async ([, url, why, next, exitCode]) => {
    const address = await url()
    const error = await refusal(address)
    // A command says the same of the budget, which it opens instead of the queue.
    if (exitCode === 2) await expectBudgetRefused(address)
    expect(error).toMatchObject({
      why: expect.stringMatching(why),
      next: expect.stringMatching(next),
      exitCode,
    })
  })
})

describe('a group that cannot serve', () => {
  const portsOf = (group: RedisGroup) =>
    [...group.url.matchAll(/:(\d+)(?=[,/]|$)/g)].map(([, port]) => Number(port))
  /** Runs commands as an administrator at each of the servers that answer. */
  const atAll = async (group: RedisGroup, ports: readonly number[], ...command: string[]) => {
    for (const port of ports) {
      const redis = group.admin(port)
      await redis.call(command[0]!, ...command.slice(1)).catch(() => {})
      redis.disconnect()
    }
  }

  test('servers that announce an address that is not reached from here', async () => {
    const announce = (port: string) =>
      atAll(cluster, cluster.ports, 'CONFIG', 'SET', 'cluster-announce-tls-port', port)
    await announce('1')
    const error = await waitFor(async () => {
      const found = await refusal(cluster.url)
      expect(found.why).toMatch(/:1\b/)
      return found
    })
    expect(error).toMatchObject({ exitCode: 1, next: expect.stringMatching(/cluster-announce-ip/) })
    await announce('0')
    await waitFor(async () => (await openBackend(cluster.url, options)).close())
  })

  test('a cluster without a server for some keys', async () => {
    await cluster.stopMaster()
    const error = await waitFor(async () => {
      const found = await refusal(cluster.url)
      expect(found.why).toMatch(/^CLUSTERDOWN /)
      return found
    })
    expect(error).toMatchObject({ exitCode: 1, next: expect.stringMatching(/^start its masters/) })
  })

  test('sentinels without a majority do not choose another master', async () => {
    await atAll(sentinels, portsOf(sentinels).slice(1), 'SHUTDOWN', 'NOSAVE')
    await sentinels.stopMaster()
    const error = await waitFor(async () => {
      const found = await refusal(sentinels.url)
      expect(found.why).toMatch(/ECONNREFUSED/)
      return found
    })
    expect(error).toMatchObject({
      exitCode: 1,
      next: expect.stringMatching(/most of which have to run/),
    })
  })
})
