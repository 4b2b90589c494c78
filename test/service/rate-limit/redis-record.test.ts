/** The connection to Redis: its error messages, which hide the password, and that it reconnects. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { openRedisRecords } from '../../../src/service/rate-limit/redis-record.ts'
import { UserError } from '../../../src/values/user-error.ts'
import { startPrivateRedis } from '../../support/redis-server.ts'

function connect(url: string) {
  const errors: string[] = []
  const redis = openRedisRecords(url, (why) => errors.push(why))
  onTestFinished(redis.close)
  return { record: redis.record('key'), errors }
}

test('an address that is not a Redis URL is refused without being shown', () => {
  for (const url of ['http://u:secret@host', 'secret', 'redis//secret']) {
    expect(() => openRedisRecords(url)).toThrow(UserError)
    expect(() => openRedisRecords(url)).not.toThrow(/secret/)
  }
})

test('errors are messages without the password', async () => {
  const redis = await startPrivateRedis({ durable: false })
  onTestFinished(redis.stop)
  const wrong = connect(redis.url.replace('//', '//user:hunter2@'))
  const error: unknown = await wrong.record.read().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Error)
  expect(JSON.stringify([wrong.errors, String(error), error])).not.toContain('hunter2')
  const unreachable = connect('redis://user:hunter2@127.0.0.1:1')
  await expect(unreachable.record.read()).rejects.toThrow('Redis: connect ECONNREFUSED 127.0.0.1:1')
})

test('a password that is not accepted needs a person, at once', async () => {
  const redis = await startPrivateRedis({ durable: false })
  onTestFinished(redis.stop)
  const admin = new Redis(redis.url)
  await admin.acl('SETUSER', 'user', 'on', '>right', '~*', '+@all')
  await admin.acl('SETUSER', 'limited', 'on', '>right', '~*', '+ping', '+info')
  for (const [credentials, why] of [
    ['user:hunter2', /WRONGPASS/],
    ['limited:right', /NOPERM/],
  ] as const) {
    const error: unknown = await connect(redis.url.replace('//', `//${credentials}@`))
      .record.read()
      .catch((it) => it)
    expect(error).toBeInstanceOf(UserError)
    expect(error).toMatchObject({ exitCode: 2, why: expect.stringMatching(why) })
    expect(error).toHaveProperty('next', expect.stringContaining('DESKMIRROR_QUEUE_URL'))
    expect(String(error)).not.toContain('hunter2')
  }
  // The default user has no password yet.
  await admin.call('CONFIG', 'SET', 'requirepass', 'right')
  admin.disconnect()
  const error: unknown = await connect(redis.url)
    .record.read()
    .catch((it: unknown) => it)
  expect(error).toMatchObject({ exitCode: 2, why: expect.stringMatching(/NOAUTH/) })
})

test('a server that takes no writes is not to be started, but to take them again', async () => {
  const redis = await startPrivateRedis({ durable: false })
  onTestFinished(redis.stop)
  const admin = new Redis(redis.url)
  await admin.config('SET', 'maxmemory', '1')
  admin.disconnect()
  const { record } = connect(redis.url)
  const write = async () => record.compareAndSet(await record.read(), 'text')
  await expect(write()).rejects.toMatchObject({
    message: expect.stringMatching(
      /^Redis: OOM command not allowed when used memory > 'maxmemory'\.$/,
    ),
    next: 'let Redis accept writes again, then try again',
    exitCode: 1,
  })
})

test('a server that restarts is reconnected, and reported as restarted', async () => {
  const redis = await startPrivateRedis({ durable: true })
  onTestFinished(redis.stop)
  const { record } = connect(redis.url)
  await record.compareAndSet(await record.read(), 'old')
  await redis.crash()
  const reading = await eventually(() => record.read())
  expect(reading.restarted).toBe(true)
  expect(await record.compareAndSet(reading, 'new')).toMatchObject({
    swapped: true,
    reading: { restarted: false },
  })
})

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (tries === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
