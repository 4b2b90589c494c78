/** The connection to Redis: what it says, what it keeps to itself, and that it comes back. */
import { expect, onTestFinished, test } from 'vitest'
import { openRedisRecords } from '../../../src/api/rate-limit/redis-record.ts'
import { UserError } from '../../../src/core/user-error.ts'
import { startPrivateRedis } from '../../support/redis-server.ts'

function connect(url: string) {
  const said: string[] = []
  const redis = openRedisRecords(url, (why) => said.push(why))
  onTestFinished(redis.close)
  return { cell: redis.record('desk'), said }
}

test('what is no address of a Redis is refused without being shown', () => {
  for (const url of ['http://u:secret@host', 'secret', 'redis//secret']) {
    expect(() => openRedisRecords(url)).toThrow(UserError)
    expect(() => openRedisRecords(url)).not.toThrow(/secret/)
  }
})

test('trouble is said in words, and never with the password', async () => {
  const redis = await startPrivateRedis({ durable: false })
  onTestFinished(redis.stop)
  const wrong = connect(redis.url.replace('//', '//somebody:hunter2@'))
  const error: unknown = await wrong.cell.read().catch((why: unknown) => why)
  expect(error).toBeInstanceOf(Error)
  expect(JSON.stringify([wrong.said, String(error), error])).not.toContain('hunter2')
  const nobody = connect('redis://somebody:hunter2@127.0.0.1:1')
  await expect(nobody.cell.read()).rejects.toThrow('Redis: connect ECONNREFUSED 127.0.0.1:1')
})

test('a server that comes back is found again, and known to have been away', async () => {
  const redis = await startPrivateRedis({ durable: true })
  onTestFinished(redis.stop)
  const { cell } = connect(redis.url)
  await cell.compareAndSet(await cell.read(), 'kept')
  await redis.crash()
  const reading = await eventually(() => cell.read())
  expect(reading.restarted).toBe(true)
  expect(await cell.compareAndSet(reading, 'anew')).toMatchObject({ swapped: true, reading: { restarted: false } })
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
