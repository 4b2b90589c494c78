/** Errors and warnings about the queue's Redis, and how few of them are logged. */

import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { createLog } from '../../src/log.ts'
import { UserError } from '../../src/values/user-error.ts'
import { freePort } from '../support/private-server.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/redis-server.ts'
import { waitUntil } from '../support/wait.ts'
import { type BullBackend, silentLog } from './queue-fixtures.ts'

type Event = { readonly event: string; readonly why?: string }

function captureEvents() {
  const events: Event[] = []
  const write = (line: string) => void events.push(JSON.parse(line))
  return { events, log: createLog({ level: 'info', pretty: false, secrets: [], write }) }
}

async function refusal(url: string, connectTimeoutMs = 0): Promise<UserError> {
  const error = await openBackend(url, { log: silentLog, connectTimeoutMs }).then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UserError)
  expect(JSON.stringify(error)).not.toContain('a%20secret')
  return error as UserError
}

describe('a server', () => {
  let redis: PrivateRedis
  beforeAll(async () => {
    redis = await startPrivateRedis({ durable: false })
  })
  afterAll(() => redis.stop())
  const at = (url: string, change: (url: URL) => void) => {
    const changed = new URL(url)
    change(changed)
    return changed.href
  }

  test('that is down is waited for, then named without its password', async () => {
    const port = await freePort()
    const error = await refusal(`redis://user:a%20secret@127.0.0.1:${port}/0`, 300)
    expect(error).toMatchObject({
      exitCode: 1,
      what: `cannot use the queue redis://127.0.0.1:${port}/0`,
    })
  })

  test('that starts late is not too late', async () => {
    const port = await freePort()
    const opening = openBackend(`redis://127.0.0.1:${port}`, {
      log: silentLog,
      connectTimeoutMs: 20_000,
    })
    const { hostname, port: real } = new URL(redis.url)
    let calls = 0
    const late = createServer((socket) => {
      if (++calls < 4) return socket.destroy()
      const onward = connect(Number(real), hostname).on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
      return socket.pipe(onward).pipe(socket)
    })
    late.listen(port, '127.0.0.1')
    onTestFinished(() => void late.close())
    await (await opening).close()
    expect(calls).toBeGreaterThanOrEqual(4)
  })

  test('that refuses the connection needs a person, at once', async () => {
    const admin = new Redis(redis.url)
    await admin.acl('SETUSER', 'user', 'on', '>right', '~*', '+@all')
    admin.disconnect()
    const wrong = at(redis.url, (url) =>
      Object.assign(url, { username: 'user', password: 'a secret' }),
    )
    expect(await refusal(wrong, 20_000)).toMatchObject({
      exitCode: 2,
      why: expect.stringMatching(/WRONGPASS/),
    })
  })

  /** What each does to the server; its configuration is restored by `heal`. */
  const outages: readonly (readonly [string, (admin: Redis) => Promise<unknown>])[] = [
    ['OOM', (admin) => admin.config('SET', 'maxmemory', '1')],
    ['READONLY', (admin) => admin.replicaof('127.0.0.1', 1)],
    ['NOREPLICAS', (admin) => admin.config('SET', 'min-replicas-to-write', '1')],
    ['MISCONF', failToSave],
  ]
  const heal = async (admin: Redis) => {
    await admin.config('SET', 'maxmemory', '0')
    await admin.replicaof('NO', 'ONE')
    await admin.config('SET', 'min-replicas-to-write', '0')
    await admin.config('SET', 'save', '')
  }

  test.each(outages)('that answers %s is waited for like one that is down', async (code, begin) => {
    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    await begin(admin)
    onTestFinished(() => heal(admin))
    const error = await refusal(redis.url, 300)
    expect(error).toMatchObject({ exitCode: 1, why: expect.stringContaining(code) })
    expect(error.next).not.toContain('ACL')

    await admin.config('RESETSTAT')
    const opening = openBackend(redis.url, { log: silentLog, connectTimeoutMs: 60_000 })
    const attempts = async () => Number(/total_error_replies:(\d+)/.exec(await admin.info())?.[1])
    await waitUntil(async () => (await attempts()) > 1)
    await heal(admin)
    await (await opening).close()
  })

  test.each(outages)('that answers %s to writes is not ready', async (code, begin) => {
    const admin = new Redis(redis.url)
    onTestFinished(() => admin.disconnect())
    const backend = await openBackend(redis.url, { log: silentLog, connectTimeoutMs: 5000 })
    onTestFinished(() => backend.close())
    await backend.ping()
    await begin(admin)
    onTestFinished(() => heal(admin))
    await expect(backend.ping()).rejects.toThrow(code)
    await heal(admin)
    await waitUntil(() =>
      backend.ping().then(
        () => true,
        () => false,
      ),
    )
  })

  test('Redis without the database, or with missing permissions, needs a person and says what to do', async () => {
    const elsewhere = at(redis.url, (url) => Object.assign(url, { pathname: '/4711' }))
    expect(await refusal(elsewhere, 20_000)).toMatchObject({
      exitCode: 2,
      why: 'this Redis has no database 4711',
    })
    const admin = new Redis(redis.url)
    const rules: readonly (readonly [string, readonly string[], RegExp])[] = [
      ['keyless', ['~other:*', '+@all'], /lacks a permission: .*(key|NOPERM)/],
      [
        'reader',
        ['~deskmirror:*', '+@read', '+@connection', '+eval', '+info'],
        /lacks a permission: HSET/,
      ],
      ['unscripted', ['~deskmirror:*', '+@all', '-@scripting'], /lacks a permission: EVAL/],
      ['impatient', ['~deskmirror:*', '+@all', '-bzpopmin'], /lacks a permission: BZPOPMIN/],
    ]
    for (const [user, rule, why] of rules) {
      await admin.acl('SETUSER', user, 'on', '>a secret', ...rule)
      const url = at(redis.url, (target) =>
        Object.assign(target, { username: user, password: 'a secret' }),
      )
      expect(await refusal(url, 20_000)).toMatchObject({
        exitCode: 2,
        why: expect.stringMatching(why),
        next: `allow it: ACL SETUSER ${user} ~deskmirror:* +@all -@dangerous +info`,
      })
    }
    // The advised permissions are enough.
    await admin.acl(
      'SETUSER',
      'advised',
      'on',
      '>a secret',
      '~deskmirror:*',
      '+@all',
      '-@dangerous',
      '+info',
    )
    admin.disconnect()
    const advised = at(redis.url, (target) =>
      Object.assign(target, { username: 'advised', password: 'a secret' }),
    )
    const backend = await openBackend(advised, { log: silentLog })
    const ran = Promise.withResolvers<void>()
    backend.worker('q', async () => {
      ran.resolve()
      return { do: 'done' }
    })
    await backend.queue('q').addBulk([{ name: 'job', data: {} }])
    await ran.promise
    await backend.close()
  })

  test('Redis that may evict jobs is used, with a warning', async () => {
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const { log, events } = captureEvents()
    const backend = await openBackend(redis.url, { log })
    expect(backend.warnings).toEqual([expect.stringMatching(/allkeys-lru.*noeviction/)])
    expect(events).toEqual([
      expect.objectContaining({ event: 'queue.warning', why: backend.warnings[0] }),
    ])
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
    admin.disconnect()
    await backend.close()
  })

  test('that goes down is one line in the log; adding a job fails in time, and closing does not wait for it', async () => {
    const stopped = await startPrivateRedis({ durable: false })
    const { log, events } = captureEvents()
    const backend = (await openBackend(stopped.url, { log, requestTimeoutMs: 300 })) as BullBackend
    const queues = ['a', 'b', 'c'].map((name) => backend.queue(name))
    const workers = ['a', 'b', 'c'].map((name) =>
      backend.worker(name, async () => ({ do: 'done' })),
    )
    await Promise.all(workers.map((worker) => once(worker, 'drained')))
    await stopped.stop()
    const added = await Promise.allSettled(
      queues.map((queue) => queue.addBulk([{ name: 'job', data: {} }])),
    )
    const named = { what: `cannot use the queue ${stopped.url}` }
    expect(added).toMatchObject(Array(3).fill({ status: 'rejected', reason: named }))
    await waitUntil(() => events.length > 0)
    await backend.close()
    expect(events).toEqual([
      expect.objectContaining({ event: 'queue.disconnected', server: stopped.url }),
    ])
  })
})

/** Its folder refuses the snapshot, as a full disk would. */
async function failToSave(admin: Redis): Promise<void> {
  const [, folder = ''] = (await admin.config('GET', 'dir')) as string[]
  chmodSync(folder, 0o500)
  await admin.config('SET', 'save', '3600 1')
  await admin.bgsave()
  const failed = async () =>
    (await admin.info('persistence')).includes('rdb_last_bgsave_status:err')
  await waitUntil(failed)
  chmodSync(folder, 0o700)
}
