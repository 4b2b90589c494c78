/** Which reads are retried, how often, and when the retries end. */
import { describe, expect, test } from 'vitest'
import type { ClientOptions } from '../../src/service/client.ts'
import { seededRandom } from '../support/seeded-random.ts'
import {
  answersInOrder,
  createTestClient,
  emptyListAnswer,
  failureOf,
  jsonAnswer,
  memoryBudget,
  quickRetries,
  type RequestHandler,
  startTestService,
} from './test-service.ts'

const broken = jsonAnswer(500, 'oops')

async function readFrom(answer: RequestHandler, options: Partial<ClientOptions> = {}) {
  const service = await startTestService(answer)
  const client = createTestClient(service.url, options)
  return { service, client, reading: client.get('/thing', {}, 'fresh') }
}

test('a read that fails seven times and then succeeds is a success', async () => {
  const { reading, service } = await readFrom(
    answersInOrder(...Array(7).fill(broken), emptyListAnswer),
  )
  expect((await reading).status).toBe(200)
  expect(service.requestCount()).toBe(8)
})

test('after eight attempts the last failure is thrown', async () => {
  const { reading, service } = await readFrom(broken)
  expect(await failureOf(reading)).toMatchObject({ kind: 'transient', status: 500 })
  expect(service.requestCount()).toBe(8)
})

test.for([400, 401, 403, 404, 302])('a %d is not retried', async (status) => {
  const { reading, service } = await readFrom(jsonAnswer(status, ''))
  await failureOf(reading)
  expect(service.requestCount()).toBe(1)
})

test('broken connections are retried', async () => {
  const { reading } = await readFrom(
    answersInOrder((request) => void request.socket.destroy(), emptyListAnswer),
  )
  expect((await reading).status).toBe(200)
})

describe('a 429', () => {
  /** Ignores the pause: the shortest Retry-After is a second. */
  const unpaused = () => ({ ...memoryBudget(), recordThrottle: async () => {} })

  test('is not an attempt: a read with one attempt survives it', async () => {
    const busy = jsonAnswer(429, '', { 'retry-after': '1' })
    const options = { budget: unpaused(), retries: { ...quickRetries, attempts: 1 } }
    const { reading, service } = await readFrom(
      answersInOrder(busy, busy, busy, emptyListAnswer),
      options,
    )
    expect((await reading).status).toBe(200)
    expect(service.requestCount()).toBe(4)
  })

  test('reaches the budget, with the time that the service asks for', async () => {
    const waits: number[] = []
    const budget = {
      ...unpaused(),
      recordThrottle: async (_slot: unknown, waitMs: number) => void waits.push(waitMs),
    }
    const answers = answersInOrder(
      jsonAnswer(429, '', { 'retry-after': '9' }),
      jsonAnswer(429, ''),
      emptyListAnswer,
    )
    const retries = { ...quickRetries, maxRequestedWaitMs: 900_000 }
    const { reading } = await readFrom(answers, { budget, retries, defaultRetryAfterMs: 30_000 })
    await reading
    expect(waits).toEqual([9000, 30_000])
  })

  test('that repeats ends when the waits exceed the limit', async () => {
    const options = { budget: unpaused(), retries: { ...quickRetries, maxRequestedWaitMs: 45_000 } }
    const { reading, service } = await readFrom(
      jsonAnswer(429, '', { 'retry-after': '10' }),
      options,
    )
    expect(await failureOf(reading)).toMatchObject({ kind: 'throttled', waitMs: 10_000 })
    expect(service.requestCount()).toBe(5)
  })

  test('pauses every other call of the key until its time is over', async () => {
    const budget = memoryBudget()
    const answers = answersInOrder(jsonAnswer(429, '', { 'retry-after': '1' }), emptyListAnswer)
    const { reading, client } = await readFrom(answers, { budget })
    await reading
    await client.get('/other', {}, 'fresh')
    expect(await budget.view()).toMatchObject({ throttled: 1, pausedForMs: null })
  })
})

describe('the share of retries', () => {
  test('an outage does not multiply the load: at most 0.6 retries a read, and a few to begin with', async () => {
    const service = await startTestService(broken)
    const client = createTestClient(service.url)
    for (let read = 0; read < 200; read += 1) await failureOf(client.get('/thing', {}, 'backfill'))
    expect(service.requestCount()).toBeLessThanOrEqual(200 * 1.6 + 30)
  })

  test('a quarter of all responses may fail, and every read succeeds', async () => {
    const random = seededRandom(5)
    const mostlyFine: RequestHandler = (...exchange) =>
      (random() < 0.25 ? broken : emptyListAnswer)(...exchange)
    const service = await startTestService(mostlyFine)
    const client = createTestClient(service.url)
    const reads = Array.from({ length: 300 }, () => client.get('/thing', {}, 'backfill'))
    expect((await Promise.all(reads)).every(({ status }) => status === 200)).toBe(true)
  })
})

/** A log that calls `listener` for each retry. */
function onRetry(listener: (event: Readonly<Record<string, unknown>>) => unknown) {
  const debug = (event: Readonly<Record<string, unknown>>) =>
    event.event === 'request.retried' && listener(event)
  return { debug: (event: Readonly<Record<string, unknown>>) => void debug(event), warn: () => {} }
}

describe('the stop signal', () => {
  test('ends a read that waits for its response, at once', async () => {
    const stop = new AbortController()
    const { reading } = await readFrom(() => stop.abort(), { signal: stop.signal })
    expect(await failureOf(reading)).toEqual({ kind: 'aborted' })
  })

  test('ends a read that waits for its next attempt, at once', async () => {
    const stop = new AbortController()
    const log = onRetry(() => stop.abort())
    const retries = { ...quickRetries, baseMs: 1e9, capMs: 1e9 }
    const { reading, service } = await readFrom(broken, {
      signal: stop.signal,
      log,
      retries,
      random: () => 0.5,
    })
    expect(await failureOf(reading)).toEqual({ kind: 'aborted' })
    expect(service.requestCount()).toBe(1)
  })

  test('ends a read that waits for the budget, at once', async () => {
    const stop = new AbortController()
    const budget = memoryBudget()
    await budget.recordThrottle({ grantedAt: 0, freeAt: 0, writeFreeAt: null }, 3_600_000)
    const { reading, service } = await readFrom(emptyListAnswer, { signal: stop.signal, budget })
    stop.abort()
    expect(await failureOf(reading)).toEqual({ kind: 'aborted' })
    expect(service.requestCount()).toBe(0)
  })

  test('keeps a later call from being sent', async () => {
    const { reading, service } = await readFrom(emptyListAnswer, { signal: AbortSignal.abort() })
    expect(await failureOf(reading)).toEqual({ kind: 'aborted' })
    expect(service.requestCount()).toBe(0)
  })
})

test('the wait before a retry is a random part of a growing time', async () => {
  const waits: unknown[] = []
  const log = onRetry((event) => waits.push(event.wait_ms))
  const retries = { attempts: 6, baseMs: 4, capMs: 20, maxRequestedWaitMs: 1000 }
  const { reading } = await readFrom(broken, { log, retries, random: () => 0.5 })
  await failureOf(reading)
  expect(waits).toEqual([2, 4, 8, 10, 10])
})
