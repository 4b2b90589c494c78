/** Errors and warnings about the queue's store, and how few of them are logged. */
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openBackend } from '../../jobs/backends/backend.ts'
import { startThreadSession } from '../../jobs/backends/embedded/session.ts'
import { openPostgres } from '../../jobs/backends/postgres.ts'
import { UserError } from '../../src/core/user-error.ts'
import { createLog } from '../../src/log.ts'
import { currentProcess } from '../../src/warehouse/database/process-identity.ts'
import { freePort } from '../support/private-server.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/redis-server.ts'
import { createQueueFolder, queueFixtures, silentLog } from './queue-fixtures.ts'

type Event = { readonly event: string; readonly why?: string }

function captureEvents() {
  const events: Event[] = []
  const write = (line: string) => void events.push(JSON.parse(line))
  return { events, log: createLog({ level: 'info', pretty: false, secrets: [], write }) }
}

const threadOptions = (folder: string) => ({
  dataFolder: join(folder, 'data'),
  schema: 'deskmirror_queue',
  maintainMs: 1e9,
  checkLogMs: 1e9,
  silenceMs: 1e9,
})

async function refusal(url: string, connectTimeoutMs = 0): Promise<UserError> {
  const error = await openBackend(url, { folder: '', log: silentLog, connectTimeoutMs }).then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UserError)
  expect(JSON.stringify(error)).not.toContain('a%20secret')
  return error as UserError
}

describe('the embedded store', () => {
  const createFolder = async () => {
    const folder = await createQueueFolder()
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return folder
  }

  test('belongs to one process, names it to others, and is free when that process is killed', async () => {
    const fixture = await queueFixtures.find(({ kind }) => kind === 'embedded')!.make()
    const first = await fixture.open()
    await first.queue('q').add('job', {})
    await first.close()
    const holder = await fixture.startUnendingJob('q')
    await expect(fixture.open()).rejects.toThrow(new RegExp(`process ${holder.pid} on .* uses it`))
    await expect(fixture.open()).rejects.toBeInstanceOf(UserError)
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await fixture.open()).close()
    await fixture.drop()
  })

  test('keeps apart the jobs that were added before and after its process was killed', async () => {
    const fixture = await queueFixtures.find(({ kind }) => kind === 'embedded')!.make()
    onTestFinished(fixture.drop)
    const killed = await fixture.addJobsElsewhere('q', ['a', 'b', 'c', 'd', 'e', 'f'])
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const backend = await fixture.open()
    onTestFinished(backend.close)
    const queue = backend.queue<{ readonly name: string }>('q')
    for (const id of ['e', 'f', 'g', 'h'])
      await queue.addBulk([{ name: 'job', data: { name: id }, opts: { deduplication: { id } } }])
    const pending = await queue.getJobs(['waiting'])
    expect(pending.map(({ data }) => data.name).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  })

  test.each([
    ['of an earlier boot', JSON.stringify({ host: 'vm', pid: 1, process: `${randomUUID()}/pid:[1]@1` }), []],
    ['that did not reach the disk', '', []],
    ['of this boot', JSON.stringify(currentProcess()), ['a']],
  ])('keeps its jobs only if it is complete: its last process, not stopped, is one %s', async (_, holder, kept) => {
    const folder = await createFolder()
    const first = await openBackend('embedded', { folder, log: silentLog })
    await first.queue('q').add('job', { name: 'a' })
    await first.close()
    writeFileSync(join(folder, 'holder.json'), holder)
    const backend = await openBackend('embedded', { folder, log: silentLog })
    onTestFinished(backend.close)
    expect((await backend.queue<{ readonly name: string }>('q').getJobs()).map(({ data }) => data.name)).toEqual(kept)
    expect(backend.warnings.length).toBe(kept.length === 0 ? 1 : 0)
  })

  test('is moved aside when it is broken, with a warning, and starts empty', async () => {
    const folder = await createFolder()
    const { log, events } = captureEvents()
    const before = await openBackend('embedded', { folder, log })
    await before.close()
    writeFileSync(join(folder, 'data', 'global', 'pg_control'), '')
    const after = await openBackend('embedded', { folder, log })
    const aside = readdirSync(folder).find((name) => name.startsWith('broken-'))!
    expect(after.warnings).toEqual([expect.stringContaining(aside)])
    expect(events).toEqual([expect.objectContaining({ event: 'queue.warning' })])
    expect(existsSync(join(folder, aside, 'PG_VERSION'))).toBe(true)
    await after.queue('q').add('job', {})
    await after.close()
  })

  test('is created anew when an earlier version has created it, with log files of 16 MB', async () => {
    const folder = await createFolder()
    const logFile = join(folder, 'data', 'pg_wal', '0'.repeat(24))
    writeFileSync(logFile, '')
    truncateSync(logFile, 16 * 1024 * 1024)
    const backend = await openBackend('embedded', { folder, log: silentLog })
    expect(backend.warnings).toEqual([])
    expect(existsSync(logFile)).toBe(false)
    await backend.queue('q').add('job', {})
    await backend.close()
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'lock'])
  })

  test('reports the death of its thread, rejects its requests, and does not keep the process alive', async () => {
    const folder = await createFolder()
    const { log, events } = captureEvents()
    const fatal = Promise.withResolvers<Error>()
    const backend = await openBackend('embedded', { folder, log, onFatal: fatal.resolve })
    const queue = backend.queue('q')
    const worker = backend.worker('q', async () => ({ do: 'done' }))
    await once(worker, 'drained')
    // Postgres can no longer write its log.
    rmSync(join(folder, 'data', 'pg_wal'), { recursive: true })
    const megabytes = () => queue.add('job', { text: randomBytes(2e6).toString('base64') })
    await expect(Promise.all(Array.from({ length: 12 }, megabytes))).rejects.toThrow()
    expect((await fatal.promise).message).toMatch(/\S/)
    expect(events).toContainEqual(expect.objectContaining({ event: 'queue.closed' }))
    await expect(queue.add('job', {})).rejects.toThrow()
    await backend.close()
  })

  test('is a Postgres with a session that answers in order', async () => {
    const options = threadOptions(await createFolder())
    const session = await startThreadSession(options, () => {})
    const answers = await Promise.all([
      session.query('select $1::int8 as big', ['9007199254740993']),
      session.query('select current_schema() as schema', []),
      session.query('select 1/0', []).catch((error: unknown) => error),
    ])
    expect(answers[0]).toMatchObject({ rows: [{ big: '9007199254740993' }], rowCount: 1 })
    expect(answers[1]).toMatchObject({ rows: [{ schema: 'deskmirror_queue' }] })
    expect(answers[2]).toMatchObject({ code: '22012' })
    await session.close()
  })

  test('shortens its log when that has grown', async () => {
    const folder = await createFolder()
    const session = await startThreadSession({ ...threadOptions(folder), checkLogMs: 20 }, () => {})
    const logFiles = () => readdirSync(join(folder, 'data', 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name))
    await session.query('create table written (text text)', [])
    await session.query('insert into written select repeat(md5(n::text), 20) from generate_series(1, 30000) as n', [])
    await vi.waitUntil(() => logFiles().length <= 6, { interval: 20, timeout: 120_000 })
    await session.close()
  })

  test('vacuums what jobs leave behind', async () => {
    const closed: Error[] = []
    const options = { ...threadOptions(await createFolder()), maintainMs: 50 }
    const session = await startThreadSession(options, (error) => closed.push(error))
    await session.query('create table left_behind as select n from generate_series(1, 5000) as n', [])
    await session.query('delete from left_behind', [])
    const size = async () => (await session.query("select pg_relation_size('left_behind') as size", [])).rows[0]
    await vi.waitUntil(async () => Reflect.get(Object(await size()), 'size') === '0', {
      interval: 20,
      timeout: 120_000,
    })
    await session.close()
    expect(closed).toEqual([])
  })
})

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

  test.each(['redis', 'postgres'])('that is down is waited for, then named without its password: %s', async (kind) => {
    const port = await freePort()
    const error = await refusal(`${kind}://user:a%20secret@127.0.0.1:${port}/0`, 300)
    expect(error).toMatchObject({ exitCode: 1, what: `cannot use the queue ${kind}://127.0.0.1:${port}/0` })
  })

  test('that starts late is not too late', async () => {
    const port = await freePort()
    const opening = openBackend(`redis://127.0.0.1:${port}`, { folder: '', log: silentLog, connectTimeoutMs: 20_000 })
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
    const wrong = at(redis.url, (url) => Object.assign(url, { username: 'user', password: 'a secret' }))
    expect(await refusal(wrong, 20_000)).toMatchObject({ exitCode: 2, why: expect.stringMatching(/WRONGPASS/) })
    const wrongPassword = at(inject('postgresUrl'), (url) => Object.assign(url, { password: 'a secret' }))
    expect(await refusal(wrongPassword, 20_000)).toMatchObject({ exitCode: 2, why: expect.stringMatching(/password/) })
    const nowhere = at(inject('postgresUrl'), (url) => Object.assign(url, { pathname: '/nowhere' }))
    expect(await refusal(nowhere, 20_000)).toMatchObject({ next: expect.stringMatching(/create the database/) })
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
    const opening = openBackend(redis.url, { folder: '', log: silentLog, connectTimeoutMs: 60_000 })
    const attempts = async () => Number(/total_error_replies:(\d+)/.exec(await admin.info())?.[1])
    await vi.waitUntil(async () => (await attempts()) > 1, { interval: 20, timeout: 60_000 })
    await heal(admin)
    await (await opening).close()
  })

  test('Redis without the database, or with missing permissions, needs a person and says what to do', async () => {
    const elsewhere = at(redis.url, (url) => Object.assign(url, { pathname: '/4711' }))
    expect(await refusal(elsewhere, 20_000)).toMatchObject({ exitCode: 2, why: 'this Redis has no database 4711' })
    const admin = new Redis(redis.url)
    const rules: readonly (readonly [string, readonly string[], RegExp])[] = [
      ['keyless', ['~other:*', '+@all'], /lacks a permission: .*(key|NOPERM)/],
      ['reader', ['~deskmirror:*', '+@read', '+@connection', '+eval', '+info'], /lacks a permission: HSET/],
      ['unscripted', ['~deskmirror:*', '+@all', '-@scripting'], /lacks a permission: EVAL/],
      ['impatient', ['~deskmirror:*', '+@all', '-bzpopmin'], /lacks a permission: BZPOPMIN/],
    ]
    for (const [user, rule, why] of rules) {
      await admin.acl('SETUSER', user, 'on', '>a secret', ...rule)
      const url = at(redis.url, (target) => Object.assign(target, { username: user, password: 'a secret' }))
      expect(await refusal(url, 20_000)).toMatchObject({
        exitCode: 2,
        why: expect.stringMatching(why),
        next: `allow it: ACL SETUSER ${user} ~deskmirror:* +@all -@dangerous +info`,
      })
    }
    // The advised permissions are enough.
    await admin.acl('SETUSER', 'advised', 'on', '>a secret', '~deskmirror:*', '+@all', '-@dangerous', '+info')
    admin.disconnect()
    const advised = at(redis.url, (target) => Object.assign(target, { username: 'advised', password: 'a secret' }))
    const backend = await openBackend(advised, { folder: '', log: silentLog })
    const ran = Promise.withResolvers<void>()
    backend.worker('q', async () => {
      ran.resolve()
      return { do: 'done' }
    })
    await backend.queue('q').add('job', {})
    await ran.promise
    await backend.close()
  })

  test('Postgres lets one process after the other set schedules', async () => {
    const url = at(inject('postgresUrl'), (target) => target.searchParams.set('schema', 'jobs_alone'))
    const options = {
      folder: '',
      prefix: '',
      log: silentLog,
      connectTimeoutMs: 0,
      requestTimeoutMs: 20_000,
      onFatal: () => {},
    }
    const [first, second] = [await openPostgres(url, options), await openPostgres(url, options)]
    const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const order: string[] = []
    const firstRun = first.runExclusively(async () => {
      entered.resolve()
      await release.promise
      order.push('first')
    })
    await entered.promise
    const secondRun = second.runExclusively(async () => void order.push('second'))
    const admin = new pg.Client({ connectionString: inject('postgresUrl') })
    await admin.connect()
    const waiting = "select from pg_locks where locktype = 'advisory' and not granted"
    await vi.waitUntil(async () => order.length > 0 || (await admin.query(waiting)).rowCount === 1, {
      interval: 5,
      timeout: 120_000,
    })
    release.resolve()
    await Promise.all([firstRun, secondRun])
    expect(order).toEqual(['first', 'second'])
    await Promise.all([first.close(), second.close()])
    await admin.query('drop schema jobs_alone cascade')
    await admin.end()
  })

  test('Redis that may evict jobs is used, with a warning', async () => {
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const { log, events } = captureEvents()
    const backend = await openBackend(redis.url, { folder: '', log })
    expect(backend.warnings).toEqual([expect.stringMatching(/allkeys-lru.*noeviction/)])
    expect(events).toEqual([expect.objectContaining({ event: 'queue.warning', why: backend.warnings[0] })])
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
    admin.disconnect()
    await backend.close()
  })

  test('that goes down is one line in the log; adding a job fails in time, and closing does not wait for it', async () => {
    const stopped = await startPrivateRedis({ durable: false })
    const { log, events } = captureEvents()
    const backend = await openBackend(stopped.url, { folder: '', log, requestTimeoutMs: 300 })
    const queues = ['a', 'b', 'c'].map((name) => backend.queue(name))
    const workers = ['a', 'b', 'c'].map((name) => backend.worker(name, async () => ({ do: 'done' })))
    await Promise.all(workers.map((worker) => once(worker, 'drained')))
    await stopped.stop()
    const added = await Promise.allSettled(queues.map((queue) => queue.add('job', {})))
    expect(added.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await vi.waitUntil(() => events.length > 0, { interval: 10, timeout: 120_000 })
    await backend.close()
    expect(events).toEqual([expect.objectContaining({ event: 'queue.disconnected', backend: 'redis' })])
  })
})

/** Its folder refuses the snapshot, as a full disk would. */
async function failToSave(admin: Redis): Promise<void> {
  const [, folder = ''] = (await admin.config('GET', 'dir')) as string[]
  chmodSync(folder, 0o500)
  await admin.config('SET', 'save', '3600 1')
  await admin.bgsave()
  const failed = async () => (await admin.info('persistence')).includes('rdb_last_bgsave_status:err')
  await vi.waitUntil(failed, { interval: 20, timeout: 60_000 })
  chmodSync(folder, 0o700)
}
