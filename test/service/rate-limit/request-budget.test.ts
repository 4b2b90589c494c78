/**
 * How the requests of one process queue for the budget. The clock is real, the windows are short.
 */

import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/service/core/api-failure.ts'
import type { Priority } from '../../../src/service/core/api-request.ts'
import type { Slot } from '../../../src/service/core/budget.ts'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'
import type { BudgetRecord } from '../../../src/service/core/budget-record.ts'
import {
  type BudgetStore,
  createMemoryStore,
} from '../../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../../src/service/rate-limit/request-budget.ts'
import { waitFor } from '../../support/wait.ts'
import { slidingLog } from '../core/limited-servers.ts'
import {
  answersInOrder,
  createTestClient,
  emptyListAnswer,
  jsonAnswer,
  memoryBudget,
  type RequestHandler,
  startTestService,
} from '../test-service.ts'
import { createTestStore, inMemoryRecord } from './record-stores.ts'

function rate(requests: number, windowMs: number): BudgetPolicy {
  return {
    rate: { requests, windowMs },
    writeRate: { requests, windowMs },
    reserve: 0,
    rateMargin: 0.02,
  }
}
const slotRequest = (priority: Priority, write = false) => ({
  priority,
  write,
  maxDurationMs: 1000,
})
const earlierSlot: Slot = { grantedAt: 0, freeAt: 0, writeFreeAt: null }

/** A budget that is paused for a short time, so that requests can queue. */
async function pausedBudget(policy = rate(600, 60_000), ms = 30) {
  const budget = createRequestBudget(createMemoryStore(policy))
  await budget.recordThrottle(earlierSlot, ms)
  return budget
}

test('the most urgent priority goes first, writes before its reads, and each queue in its order', async () => {
  const budget = await pausedBudget()
  const order: string[] = []
  const queue = (name: string, priority: Priority, write = false) =>
    budget.acquire(slotRequest(priority, write)).then(() => void order.push(name))
  await Promise.all([
    queue('reconcile', 'reconcile'),
    queue('backfill 1', 'backfill'),
    queue('backfill 2', 'backfill'),
    queue('fresh 1', 'fresh'),
    queue('fresh 2', 'fresh'),
    queue('guard', 'write'),
    queue('write', 'write', true),
  ])
  expect(order).toEqual([
    'write',
    'guard',
    'fresh 1',
    'fresh 2',
    'backfill 1',
    'backfill 2',
    'reconcile',
  ])
})

test('an aborted request makes way for the next, and takes no slot', async () => {
  const budget = await pausedBudget()
  const stop = new AbortController()
  const first = budget.acquire({ ...slotRequest('fresh'), signal: stop.signal })
  const second = budget.acquire(slotRequest('fresh'))
  stop.abort()
  await expect(first).rejects.toEqual(new ApiError({ kind: 'aborted' }))
  await second
  expect(await budget.view()).toMatchObject({ inUse: 1 })
})

test('a slot that is granted after its request was aborted is released', async () => {
  const memory = createMemoryStore(rate(600, 60_000))
  const stop = new AbortController()
  const acquire: BudgetStore['acquire'] = async (...args) => {
    const decision = await memory.acquire(...args)
    stop.abort()
    return decision
  }
  const budget = createRequestBudget({ ...memory, acquire })
  await expect(budget.acquire({ ...slotRequest('fresh'), signal: stop.signal })).rejects.toThrow(
    'stopped on request',
  )
  expect(await budget.view()).toMatchObject({ inUse: 0 })
})

test('a request whose connection broke is not in flight any more, so the next one need not wait', async () => {
  const budget = memoryBudget()
  for (let n = 0; n < 2; n += 1) {
    const beside = [
      await budget.acquire(slotRequest('fresh')),
      await budget.acquire(slotRequest('fresh')),
    ]
    for (const slot of beside.toReversed()) await budget.recordThrottle(slot, 20)
    for (const slot of beside) budget.releaseResponded(slot)
  }
  const broken: RequestHandler = (request) => void request.socket.destroy()
  const service = await startTestService(answersInOrder(broken, emptyListAnswer))
  const client = createTestClient(service.url, { budget })
  expect((await client.get('/thing', {}, 'fresh')).status).toBe(200)
})

test('a read does not wait for writes that have no write slot', async () => {
  const budget = createRequestBudget(
    createMemoryStore({ ...rate(600, 3_600_000), writeRate: rate(1, 3_600_000).rate }),
  )
  await budget.acquire(slotRequest('write', true))
  const stop = new AbortController()
  const waiting = budget.acquire({ ...slotRequest('write', true), signal: stop.signal })
  await new Promise(setImmediate)
  expect(await budget.acquire(slotRequest('reconcile'))).toHaveProperty('writeFreeAt', null)
  stop.abort()
  await expect(waiting).rejects.toThrow('stopped on request')
})

test('a released slot is granted at once to a waiting request', async () => {
  const budget = createRequestBudget(createMemoryStore(rate(1, 3_600_000)))
  const slot = await budget.acquire(slotRequest('fresh'))
  const waiting = budget.acquire(slotRequest('fresh'))
  budget.releaseUnsent(slot)
  expect(await waiting).toHaveProperty('freeAt')
})

test('a more urgent request does not wait behind less urgent ones', async () => {
  const budget = await pausedBudget(rate(600, 60_000), 40)
  const order: string[] = []
  const first = budget.acquire(slotRequest('backfill')).then(() => order.push('backfill'))
  await new Promise(setImmediate)
  const second = budget.acquire(slotRequest('fresh')).then(() => order.push('fresh'))
  await Promise.all([first, second])
  expect(order).toEqual(['fresh', 'backfill'])
})

describe('updates of the store', () => {
  /** A budget whose store counts its updates. */
  function countedBudget() {
    const { record } = inMemoryRecord()
    const counted = { swaps: 0 }
    const compareAndSet: BudgetRecord['compareAndSet'] = (...args) => {
      counted.swaps += 1
      return record.compareAndSet(...args)
    }
    const options = { policy: rate(600, 60_000) }
    return {
      counted,
      budget: createRequestBudget(createTestStore({ ...record, compareAndSet }, options).store),
    }
  }

  test('slots of answered requests are released together with the next request, or soon', async () => {
    const { budget, counted } = countedBudget()
    const slots = await Promise.all(
      Array.from({ length: 3 }, () => budget.acquire(slotRequest('backfill'))),
    )
    const before = counted.swaps
    for (const slot of slots.slice(0, 2)) budget.releaseResponded(slot)
    await budget.acquire(slotRequest('backfill'))
    expect(counted.swaps - before).toBe(1)
    for (const slot of slots.slice(2)) budget.releaseResponded(slot)
    await waitFor(() => expect(counted.swaps - before).toBe(2))
  })

  test('what still waits to be released is released when the program ends', async () => {
    const { budget, counted } = countedBudget()
    budget.releaseResponded(await budget.acquire(slotRequest('backfill')))
    await budget.flush()
    expect(counted.swaps).toBe(2)
  })
})

describe('a store that cannot be reached', () => {
  const broken: BudgetStore = {
    ...createMemoryStore(rate(600, 60_000)),
    acquire: () => Promise.reject(new Error('connection refused')),
    release: () => Promise.reject(new Error('connection refused')),
  }

  test('lets no request out', async () => {
    const service = await startTestService(emptyListAnswer)
    const client = createTestClient(service.url, {
      budget: createRequestBudget(broken),
      retries: { attempts: 1, baseMs: 1, capMs: 1, maxRequestedWaitMs: 1 },
    })
    await expect(client.get('/thing', {}, 'fresh')).rejects.toMatchObject({
      failure: {
        kind: 'transient',
        mayHaveBeenSent: false,
        why: expect.stringContaining('connection refused'),
      },
    })
    expect(service.requestCount()).toBe(0)
  })

  test('grants slots again when it is back', async () => {
    const memory = createMemoryStore(rate(600, 60_000))
    let down = true
    const store: BudgetStore = {
      ...memory,
      acquire: (...args) => (down ? broken : memory).acquire(...args),
    }
    const budget = createRequestBudget(store)
    await expect(budget.acquire(slotRequest('fresh'))).rejects.toThrow('connection refused')
    down = false
    expect(await budget.acquire(slotRequest('fresh'))).toHaveProperty('freeAt')
  })

  test('does not affect a response that has arrived', async () => {
    const memory = createMemoryStore(rate(600, 60_000))
    const service = await startTestService(emptyListAnswer)
    const budget = createRequestBudget({ ...memory, release: broken.release })
    const client = createTestClient(service.url, { budget })
    expect((await client.get('/thing', {}, 'fresh')).status).toBe(200)
  })
})

test('a request whose process was suspended beyond its deadline is not sent; a read takes another slot', async () => {
  const clock = { now: 0 }
  const budget = createRequestBudget(createMemoryStore(rate(600, 60_000)), 'me', () => clock.now)
  let suspensions = 1
  const acquire: typeof budget.acquire = async (request) => {
    const grant = await budget.acquire(request)
    if (suspensions-- > 0) clock.now += 3_600_000
    return grant
  }
  const service = await startTestService(emptyListAnswer)
  const client = createTestClient(service.url, { budget: { ...budget, acquire } })
  expect((await client.get('/thing', {}, 'fresh')).status).toBe(200)
  expect({ arrived: service.requestCount(), counted: client.requestCount() }).toEqual({
    arrived: 1,
    counted: 1,
  })
  expect(await budget.view()).toMatchObject({ inUse: 1 })
  suspensions = 1
  const write = client.send({ method: 'POST', path: '/thing', priority: 'write', body: {} })
  await expect(write).rejects.toMatchObject({
    failure: { kind: 'transient', mayHaveBeenSent: false },
  })
  expect(service.requestCount()).toBe(1)
})

test('two processes that share a store stay within the limit of a server that counts exactly', async () => {
  // The server's minute is a second here.
  const server = slidingLog(60)
  const service = await startTestService((request, response) => {
    const admitted = server.admit(performance.now() * 60)
    setTimeout(
      () => (admitted ? emptyListAnswer : jsonAnswer(429, ''))(request, response),
      Math.random() * 50,
    )
  })
  const store = createMemoryStore(rate(60, 1000))
  const clients = [1, 2].map(() =>
    createTestClient(service.url, { budget: createRequestBudget(store) }),
  )
  let left = 180
  const worker = async (client: (typeof clients)[number]) => {
    while (left-- > 0) await client.get('/thing', {}, 'backfill')
  }
  await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => worker(client))))
  expect(service.requestCount()).toBe(180)
  expect(await store.view()).toMatchObject({ throttled: 0 })
})

test('a budget with a huge rate delays no request', async () => {
  const budget = memoryBudget()
  for (let count = 0; count < 20_000; count += 1)
    budget.releaseResponded(await budget.acquire(slotRequest('backfill')))
  expect(await budget.view()).toMatchObject({ inUse: 20_000 })
})
