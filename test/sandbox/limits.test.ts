/** The rate limit, with each algorithm that a service may use. */
import { afterEach, describe, expect, test } from 'vitest'
import { limiters } from '../../src/sandbox/rate-limit.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { countRequests, type RequestLogEntry } from '../../src/sandbox/service.ts'
import { firstRowPaths, sendRequest } from './requests.ts'

let sandbox: Sandbox | undefined
afterEach(() => sandbox?.stop())

/** How many of the requests at these times are allowed. */
function countAllowed(kind: keyof typeof limiters, times: readonly number[]): number {
  const limiter = limiters[kind](10, 60_000)
  return times.filter((at) => {
    const free = limiter.waitMs(at) === 0
    if (free) limiter.count(at)
    return free
  }).length
}

const burst = (at: number, n = 30) => Array.from({ length: n }, () => at)
const start = 60_000 * 1000

describe('ten requests in 60 seconds', () => {
  test.for(['fixed', 'started', 'sliding', 'coarse', 'bucket', 'estimated'] as const)(
    '%s: ten requests of a burst of thirty are allowed',
    (kind) => {
      expect(countAllowed(kind, burst(start))).toBe(10)
    },
  )

  test('fixed: twenty are allowed around the edge of a window', () => {
    expect(countAllowed('fixed', [...burst(start + 59_000), ...burst(start + 61_000)])).toBe(20)
  })

  test('started: a window starts with a request, not with the clock', () => {
    expect(countAllowed('started', [...burst(start + 59_000), ...burst(start + 118_999)])).toBe(10)
    expect(
      countAllowed('started', [
        start + 59_000,
        ...burst(start + 118_000),
        ...burst(start + 119_000),
      ]),
    ).toBe(20)
  })

  test('sliding: no 60 seconds hold more than ten', () => {
    expect(countAllowed('sliding', [...burst(start + 59_000), ...burst(start + 118_999)])).toBe(10)
    expect(countAllowed('sliding', [...burst(start + 59_000), ...burst(start + 119_000)])).toBe(20)
  })

  test('coarse: no 60 seconds hold more than ten, and a second counts until all of it has left', () => {
    expect(countAllowed('coarse', [...burst(start + 58_100), ...burst(start + 118_999)])).toBe(10)
    expect(countAllowed('coarse', [...burst(start + 58_100), ...burst(start + 119_000)])).toBe(20)
  })

  test('bucket: one more every six seconds after a burst', () => {
    expect(countAllowed('bucket', [...burst(start), ...burst(start + 5_999)])).toBe(10)
    expect(countAllowed('bucket', [...burst(start), ...burst(start + 12_001)])).toBe(12)
  })

  test('estimated: the previous window counts for the share of it that is still covered', () => {
    expect(countAllowed('estimated', [...burst(start + 59_000), ...burst(start + 60_000)])).toBe(10)
    expect(countAllowed('estimated', [...burst(start + 59_000), ...burst(start + 90_000)])).toBe(15)
  })

  test.for(['fixed', 'started', 'sliding', 'coarse', 'bucket', 'estimated'] as const)(
    '%s: a client that waits as requested is allowed',
    (kind) => {
      const limiter = limiters[kind](10, 60_000)
      let now = start + 30_000
      for (let n = 0; n < 100; n += 1) {
        now += limiter.waitMs(now)
        expect(limiter.waitMs(now)).toBe(0)
        limiter.count(now)
      }
    },
  )
})

test('a key may make 600 requests in 60 seconds, 120 of them writes; another key has its own limit', async () => {
  sandbox = await startSandbox({ size: { conversations: 3 } })
  const { conversation } = await firstRowPaths(sandbox)
  sandbox.addKey({ key: 'svc_live_other' })
  const many = async (n: number, options: Parameters<typeof sendRequest>[2], path: string) => {
    const statuses = await Promise.all(
      Array.from({ length: n }, async () => (await sendRequest(sandbox!, path, options)).status),
    )
    return statuses.filter((status) => status !== 429).length
  }
  const write = { method: 'POST', body: { handled: true } }
  expect(await many(130, write, `${conversation}/handled`)).toBe(120)
  expect(await many(500, {}, conversation)).toBe(480)
  expect(await many(1, { key: 'svc_live_other' }, conversation)).toBe(1)
  const counts = sandbox.counts()
  expect(counts.byStatus).toEqual({ 200: 601, 429: 30 })
  expect(counts.maxInWindow).toEqual({ requests: 630, writes: 130 })
})

test('over the limit: 429 rate_limited, with Retry-After in seconds, as a date, or not at all', async () => {
  sandbox = await startSandbox({ switches: { 'rate.limit': 1 } })
  const { conversation } = await firstRowPaths(sandbox)
  const header = async () => (await sendRequest(sandbox!, conversation)).headers.get('retry-after')
  expect(await header()).toBeNull()
  expect(Number(await header())).toBeGreaterThan(50)
  sandbox.setSwitches({ 'rate.retryAfter': 'date', 'rate.limit': 0 })
  expect(Date.parse((await header())!)).toBeGreaterThan(sandbox.now())
  sandbox.setSwitches({ 'rate.retryAfter': 'absent' })
  expect(await header()).toBeNull()
  expect((await sendRequest(sandbox, conversation)).body.error).toMatchObject({
    code: 'rate_limited',
    status: 429,
    retryable: true,
  })
})

test('use by another client leaves less, and requests without a valid key cost nothing', async () => {
  sandbox = await startSandbox({ switches: { 'rate.limit': 10, 'rate.foreign': 8 } })
  const { conversation } = await firstRowPaths(sandbox)
  const statuses: number[] = []
  await sendRequest(sandbox, conversation, { key: 'wrong' })
  for (let n = 0; n < 3; n += 1) statuses.push((await sendRequest(sandbox, conversation)).status)
  expect(statuses).toEqual([200, 200, 429])
})

test('the counts find the densest 60 seconds of the busiest key', () => {
  const entry = (arrivedAt: number, keyId: string, write = false) =>
    ({ arrivedAt, keyId, write, operation: 'x', status: 200, fault: null }) as RequestLogEntry
  const entries = [0, 30, 50, 59, 61, 100, 200].flatMap((s) => [
    entry(s * 1000, 'a', s === 30 || s === 61),
    entry(s * 1000, 'b'),
  ])
  expect(countRequests(entries).maxInWindow).toEqual({ requests: 4, writes: 2 })
  expect(countRequests([]).maxInWindow).toEqual({ requests: 0, writes: 0 })
})
