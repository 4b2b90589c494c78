/** How the calls of one process queue for the budget. The clock is real, the windows are short. */
import { describe, expect, test } from 'vitest'
import { createRequestBudget, type SlotRequest } from '../../../src/api/rate-limit/request-budget.ts'
import { createMemoryStore } from '../../../src/api/rate-limit/state-store.ts'
import type { BudgetPolicy, Slot } from '../../../src/core/rate-limit/budget.ts'
import type { BudgetStore } from '../../../src/core/rate-limit/budget-store.ts'
import { ApiError } from '../../../src/core/api-failure.ts'
import type { Priority } from '../../../src/core/rate-limit/priority.ts'
import { slidingLog } from '../../core/rate-limit/limited-servers.ts'
import { createTestClient, emptyListAnswer, jsonAnswer, memoryBudget, startTestService } from '../test-service.ts'

const rate = (requests: number, windowMs: number): BudgetPolicy => ({
  rate: { requests, windowMs },
  writeRate: { requests, windowMs },
  reserve: 0,
})
const want = (lane: Priority, write = false): SlotRequest => ({ priority: lane, write, deadlineMs: 1000 })
const nobody: Slot = { grantedAt: 0, freeAt: 0, writeFreeAt: null }

/** A budget that rests for a moment, so that calls can queue. */
async function resting(policy = rate(600, 60_000), ms = 30) {
  const budget = createRequestBudget(createMemoryStore(policy))
  await budget.recordThrottle(nobody, ms)
  return budget
}

test('the most urgent lane goes first, writes before the reads of their lane, and each lane in its order', async () => {
  const budget = await resting()
  const order: string[] = []
  const queue = (name: string, lane: Priority, write = false) =>
    budget.acquire(want(lane, write)).then(() => void order.push(name))
  await Promise.all([
    queue('verify', 'verify'),
    queue('backfill 1', 'backfill'),
    queue('backfill 2', 'backfill'),
    queue('fresh 1', 'fresh'),
    queue('fresh 2', 'fresh'),
    queue('guard', 'write'),
    queue('write', 'write', true),
  ])
  expect(order).toEqual(['write', 'guard', 'fresh 1', 'fresh 2', 'backfill 1', 'backfill 2', 'verify'])
})

test('a call that gives up leaves its place to the next, and takes no slot', async () => {
  const budget = await resting()
  const stop = new AbortController()
  const first = budget.acquire({ ...want('fresh'), signal: stop.signal })
  const second = budget.acquire(want('fresh'))
  stop.abort()
  await expect(first).rejects.toEqual(new ApiError({ kind: 'aborted' }))
  await second
  expect(await budget.view()).toMatchObject({ inUse: 1 })
})

test('a slot that arrives when its call has just given up is given back', async () => {
  const memory = createMemoryStore(rate(600, 60_000))
  const stop = new AbortController()
  const take: BudgetStore['acquire'] = async (...asked) => {
    const decision = await memory.acquire(...asked)
    stop.abort()
    return decision
  }
  const budget = createRequestBudget({ ...memory, acquire: take })
  await expect(budget.acquire({ ...want('fresh'), signal: stop.signal })).rejects.toThrow('stopped on request')
  expect(await budget.view()).toMatchObject({ inUse: 0 })
})

test('a read is not held up by writes that wait for slots of their own', async () => {
  const budget = createRequestBudget(createMemoryStore({ ...rate(600, 3_600_000), writeRate: rate(1, 3_600_000).rate }))
  await budget.acquire(want('write', true))
  const stop = new AbortController()
  const waiting = budget.acquire({ ...want('write', true), signal: stop.signal })
  await new Promise(setImmediate)
  expect(await budget.acquire(want('verify'))).toHaveProperty('writeFreeAt', null)
  stop.abort()
  await expect(waiting).rejects.toThrow('stopped on request')
})

test('a slot that is given back is taken at once by whoever waits', async () => {
  const budget = createRequestBudget(createMemoryStore(rate(1, 3_600_000)))
  const lease = await budget.acquire(want('fresh'))
  const waiting = budget.acquire(want('fresh'))
  budget.releaseUnsent(lease)
  expect(await waiting).toHaveProperty('freeAt')
})

test('a call that is more urgent than those who wait does not wait behind them', async () => {
  const budget = await resting(rate(600, 60_000), 40)
  const order: string[] = []
  const first = budget.acquire(want('backfill')).then(() => order.push('backfill'))
  await new Promise(setImmediate)
  const second = budget.acquire(want('fresh')).then(() => order.push('fresh'))
  await Promise.all([first, second])
  expect(order).toEqual(['fresh', 'backfill'])
})

describe('a store that is out of reach', () => {
  const broken: BudgetStore = {
    ...createMemoryStore(rate(600, 60_000)),
    acquire: () => Promise.reject(new Error('connection refused')),
    release: () => Promise.reject(new Error('connection refused')),
  }

  test('lets nothing out', async () => {
    const service = await startTestService(emptyListAnswer)
    const client = createTestClient(service.url, {
      budget: createRequestBudget(broken),
      retries: { attempts: 1, baseMs: 1, capMs: 1, maxAskedWaitMs: 1 },
    })
    await expect(client.get('/thing', {}, 'fresh')).rejects.toMatchObject({
      failure: { kind: 'transient', left: false, why: expect.stringContaining('connection refused') },
    })
    expect(service.seen()).toBe(0)
  })

  test('that comes back serves again', async () => {
    const memory = createMemoryStore(rate(600, 60_000))
    let down = true
    const store: BudgetStore = { ...memory, acquire: (...asks) => (down ? broken : memory).acquire(...asks) }
    const budget = createRequestBudget(store)
    await expect(budget.acquire(want('fresh'))).rejects.toThrow('connection refused')
    down = false
    expect(await budget.acquire(want('fresh'))).toHaveProperty('freeAt')
  })

  test('does not spoil an answer that is already here', async () => {
    const memory = createMemoryStore(rate(600, 60_000))
    const service = await startTestService(emptyListAnswer)
    const client = createTestClient(service.url, { budget: createRequestBudget({ ...memory, release: broken.release }) })
    expect((await client.get('/thing', {}, 'fresh')).status).toBe(200)
  })
})

test('a request whose process was stopped beyond its deadline does not leave: its slot goes back, and a read takes another', async () => {
  const own = { now: 0 }
  const budget = createRequestBudget(createMemoryStore(rate(600, 60_000)), 'me', () => own.now)
  let stops = 1
  const acquire: typeof budget.acquire = async (wanted) => {
    const grant = await budget.acquire(wanted)
    if (stops-- > 0) own.now += 3_600_000
    return grant
  }
  const service = await startTestService(emptyListAnswer)
  const client = createTestClient(service.url, { budget: { ...budget, acquire } })
  expect((await client.get('/thing', {}, 'fresh')).status).toBe(200)
  expect({ seen: service.seen(), counted: client.requests() }).toEqual({ seen: 1, counted: 1 })
  expect(await budget.view()).toMatchObject({ inUse: 1 })
  stops = 1
  const write = client.send({ method: 'POST', path: '/thing', priority: 'write', body: {} })
  await expect(write).rejects.toMatchObject({ failure: { kind: 'transient', left: false } })
  expect(service.seen()).toBe(1)
})

test('two processes that share a store stay inside the limit together, against a real server that counts exactly', async () => {
  // The server's minute is a second here.
  const server = slidingLog(60)
  const service = await startTestService((request, response) => {
    const admitted = server.admit(performance.now() * 60)
    setTimeout(() => (admitted ? emptyListAnswer : jsonAnswer(429, ''))(request, response), Math.random() * 50)
  })
  const store = createMemoryStore(rate(60, 1000))
  const clients = [1, 2].map(() => createTestClient(service.url, { budget: createRequestBudget(store) }))
  let left = 180
  const worker = async (client: (typeof clients)[number]) => {
    while (left-- > 0) await client.get('/thing', {}, 'backfill')
  }
  await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => worker(client))))
  expect(service.seen()).toBe(180)
  expect(await store.view()).toMatchObject({ throttled: 0 })
})

test('a budget that is as good as off holds nobody up', async () => {
  const budget = memoryBudget()
  for (let count = 0; count < 20_000; count += 1) budget.releaseAnswered(await budget.acquire(want('backfill')))
  expect(await budget.view()).toMatchObject({ inUse: 20_000 })
})
