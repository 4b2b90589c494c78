/**
 * The guarantees of the budget against services that count in different ways, tested in simulated
 * time.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Priority } from '../../../src/service/core/api-request.ts'
import { budgetView } from '../../../src/service/core/budget.ts'
import { sampledCount } from '../../support/sampled.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import {
  everyServer,
  exactServers,
  fixedWindow,
  limit,
  policy,
  refusals,
  sandboxServer,
  slidingLog,
  wholeSeconds,
  windowMs,
} from './limited-servers.ts'
import {
  type Burst,
  countBetween,
  type Latency,
  maxInWindow,
  simulate,
  withTakenSlots,
} from './simulated-world.ts'

const slots = 588
const endless: Burst = { at: 0, priority: 'backfill', write: false, count: 1e9 }
const minutes = (count: number) => count * 60_000

const latencies = {
  'always 50 ms': () => 50,
  'between 0 and 2 s': (random) => random() * 2000,
  'mostly quick, with a heavy tail up to 25 s': (random) =>
    Math.min(25_000, 150 / Math.max(1e-6, random()) ** 0.9),
  'always 25 s': () => 25_000,
} satisfies Record<string, Latency>

const defaults = {
  policy,
  servers: [],
  random: seededRandom(1),
  latency: latencies['between 0 and 2 s'],
}

describe.for(Object.entries(latencies))('with answers that take %s', ([name, latency]) => {
  const history = { 1: saturated(1, latency), 4: saturated(4, latency) }

  test.for([1, 4] as const)(
    '%d processes that always have requests get no 429, however the service counts',
    (processes) => {
      const { refused, counted } = history[processes]
      expect(refused).toEqual([])
      expect(maxInWindow(counted, windowMs)).toBeLessThanOrEqual(slots)
    },
  )

  const title =
    name === 'always 25 s'
      ? 'no safe client can use more than slots × 60/85 of the limit, and at least 95 % of that is used'
      : 'at least 92 % of the limit is used once it is under way'
  test.for([1, 4] as const)(`${title} (%d processes)`, (processes) => {
    const used = countBetween(history[processes].counted, minutes(5), minutes(20)) / 15
    expect(used).toBeGreaterThanOrEqual(
      name === 'always 25 s' ? 0.95 * slots * (60 / 85) : 0.92 * limit,
    )
  })
})

function saturated(processes: number, latency: Latency) {
  const demand = Array.from({ length: processes }, () => [endless])
  return simulate({
    ...defaults,
    servers: everyServer(),
    processes: demand,
    latency,
    untilMs: minutes(20),
  })
}

test('at saturation requests are spread evenly: never more than 20 in a second after the first burst', () => {
  const sent = saturated(1, () => 50).sent.map(({ at }) => at)
  expect(maxInWindow(sent.slice(117), 1000)).toBeLessThanOrEqual(20)
})

test('100 requests after a quiet minute are never slower than 40 a second, even after a long saturated run', () => {
  const later = minutes(10)
  const before = { ...endless, count: 3000 }
  const processes = [[before, { ...endless, at: later, count: 100 }]]
  const { sent } = simulate({ ...defaults, processes, untilMs: minutes(11) })
  const burstRequests = sent.filter(({ at }) => at >= later)
  expect(burstRequests).toHaveLength(100)
  expect(burstRequests.at(-1)!.at - later).toBeLessThanOrEqual(2500)
})

test.for([10, 20, 60])(
  'a bucket that holds only %d requests leaves most of what it allows',
  (burst) => {
    const servers = [sandboxServer('bucket', limit, burst)]
    const world = {
      ...defaults,
      servers,
      answers429: true,
      processes: [[endless]],
      latency: () => 100,
    }
    const { counted, throttled } = simulate({ ...world, untilMs: minutes(10) })
    // The first minute is lost to the pause after the first burst.
    expect(countBetween(counted, minutes(1), minutes(10)) / 9).toBeGreaterThanOrEqual(0.75 * limit)
    expect(throttled).toBeLessThanOrEqual(250)
  },
)

const priority = fc.constantFrom<Priority>('write', 'fresh', 'backfill', 'reconcile')
const burst = fc.record({
  at: fc.integer({ min: 30_000, max: minutes(8) }),
  priority,
  write: fc.boolean(),
  count: fc.integer({ min: 1, max: 1500 }),
})

test('any requests, in any number of processes, after any earlier requests: no 429 in any window', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(burst, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...Object.values(latencies)),
      fc.array(fc.integer({ min: 0, max: 29_000 }), { maxLength: slots }),
      fc.integer(),
      (processes, latency, others, seed) => {
        const earlier = others.sort((a, b) => a - b)
        const state = withTakenSlots(30_000, (earlier.at(-1) ?? 0) + windowMs, earlier.length)
        const world = { policy, state, processes, latency, foreign: earlier, untilMs: minutes(10) }
        const history = simulate({ ...world, servers: everyServer(), random: seededRandom(seed) })
        expect(history.refused).toEqual([])
        expect(maxInWindow([...earlier, ...history.counted], windowMs)).toBeLessThanOrEqual(slots)
        // One that estimates its window may refuse a write: 2 % of 120 are hardly more than two.
        const refusedWrites = refusals(everyServer(120), history.countedWrites)
        expect(refusedWrites.filter((refusal) => !refusal.startsWith('approximate'))).toEqual([])
      },
    ),
    { numRuns: sampledCount(10, 100) },
  )
})

describe('a margin of 2 %', () => {
  const quick = (random: () => number) => 100 + 50 * random()
  const writes: Burst = { at: 0, priority: 'write', write: true, count: 1e9 }

  test.for([1, 4])(
    'leaves 97 % of both limits to each minute, the first one included (%d processes)',
    (count) => {
      const processes = Array.from({ length: count }, () => [endless, writes])
      const world = {
        ...defaults,
        servers: everyServer(),
        processes,
        latency: quick,
        random: seededRandom(1),
      }
      const { counted, countedWrites, refused } = simulate({
        ...world,
        untilMs: minutes(10) + 1000,
      })
      const used = (times: readonly number[]) =>
        Array.from({ length: 10 }, (_, n) =>
          countBetween(times, times[0]! + minutes(n), times[0]! + minutes(n + 1)),
        )
      expect(Math.min(...used(counted))).toBeGreaterThanOrEqual(0.97 * limit)
      expect(Math.min(...used(countedWrites))).toBeGreaterThanOrEqual(0.96 * 120)
      expect(refused).toEqual([])
      expect(refusals(exactServers(120), countedWrites)).toEqual([])
    },
  )

  test.for(['fixed', 'started', 'sliding', 'coarse', 'bucket', 'estimated'] as const)(
    'gets no 429 from a sandbox that counts like this: %s',
    (kind) => {
      for (const at of [0, 21_300, 59_950]) {
        const processes = Array.from({ length: 2 }, () => [
          { ...endless, at },
          { ...writes, at },
        ])
        const world = {
          ...defaults,
          servers: [sandboxServer(kind)],
          answers429: true,
          processes,
          latency: quick,
        }
        const { throttled, countedWrites } = simulate({ ...world, untilMs: minutes(4) })
        expect(throttled).toBe(0)
        expect(refusals([sandboxServer(kind, 120)], countedWrites)).toEqual([])
      }
    },
  )

  const demands = fc.array(
    fc.array(fc.oneof(burst, fc.constant(endless)), { minLength: 1, maxLength: 4 }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  const latency = fc.constantFrom(...Object.values(latencies))

  test('covers a service that counts whole seconds, whatever is requested, from the first request on', () => {
    fc.assert(
      fc.property(demands, latency, fc.integer(), (processes, latency, seed) => {
        const servers = (allowed: number) =>
          [0, 130, 500, 870].map((phase) => wholeSeconds(phase, allowed))
        const world = { policy, servers: servers(limit), processes, latency, untilMs: minutes(5) }
        const { refused, counted, countedWrites } = simulate({
          ...world,
          random: seededRandom(seed),
        })
        expect(refused).toEqual([])
        expect(maxInWindow(counted, 1.02 * windowMs)).toBeLessThanOrEqual(limit)
        expect(refusals(servers(120), countedWrites)).toEqual([])
      }),
      { numRuns: sampledCount(6, 60) },
    )
  })

  test('covers a clock of the store that runs ahead by less than closes the budget', () => {
    const world = {
      ...defaults,
      servers: exactServers(),
      drift: 0.008,
      processes: [[endless]],
      latency: quick,
    }
    const { refused, state } = simulate({ ...world, untilMs: minutes(9) })
    expect(refused).toEqual([])
    expect(state.generation).toBe(0)
  })

  const history = fc.record({
    demands,
    latency,
    foreign: fc.oneof(
      fc.constant<number[]>([]),
      fc.array(fc.integer({ min: 0, max: minutes(5) }), { maxLength: 300 }),
    ),
    drift: fc.double({ min: -0.001, max: 0.001, noNaN: true }),
    // Steps, or a clock that runs up to a tenth faster for a while.
    gains: fc.array(
      fc.record({
        at: fc.integer({ min: 0, max: minutes(4) }),
        ms: fc.integer({ min: 0, max: 99 }),
        everyMs: fc.constantFrom(0, 1000),
        count: fc.integer({ min: 1, max: 60 }),
      }),
      { maxLength: 2 },
    ),
    recordLosses: fc.array(fc.integer({ min: 0, max: minutes(5) }), { maxLength: 1 }),
    seed: fc.integer(),
  })

  test('lets no window of any phase hold more than the limit, however the clock runs', () => {
    fc.assert(
      fc.property(history, ({ demands, foreign, gains, seed, ...world }) => {
        const clockGains = gains.flatMap(({ at, ms, everyMs, count }) =>
          Array.from({ length: count }, (_, n) => ({ at: at + n * everyMs, ms })),
        )
        const others = foreign.sort((a, b) => a - b)
        // Others make the first of them answer 429.
        const servers = [slidingLog(), ...exactServers()]
        const random = seededRandom(seed)
        const simulated = {
          policy,
          ...world,
          clockGains,
          foreign: others,
          servers,
          answers429: true,
          random,
        }
        const result = simulate({ ...simulated, processes: demands, untilMs: minutes(5) })
        expect(maxInWindow(result.counted, windowMs)).toBeLessThanOrEqual(limit)
        expect(maxInWindow(result.countedWrites, windowMs)).toBeLessThanOrEqual(120)
        if (others.length === 0) expect(result.refused).toEqual([])
      }),
      { numRuns: sampledCount(6, 60) },
    )
  })
})

describe('priorities', () => {
  test('a more urgent priority of any process goes before a less urgent one of any other', () => {
    const urgent: Burst = { at: minutes(3), priority: 'fresh', write: false, count: 60 }
    const random = seededRandom(1)
    const processes = [[endless], [urgent], [endless]]
    const { sent } = simulate({ ...defaults, random, processes, untilMs: minutes(6) })
    const fresh = sent.filter((request) => request.priority === 'fresh')
    const isMeanwhile = (at: number) => at > minutes(3) && at < fresh.at(-1)!.at
    const meanwhile = sent.filter(({ at, priority }) => priority !== 'fresh' && isMeanwhile(at))
    expect(fresh).toHaveLength(60)
    // One of each process may go first, before the urgent one has requested its first slot and
    // waits.
    expect(meanwhile.length).toBeLessThanOrEqual(2)
  })

  test('writes that have used up the write slots leave the other slots to the reads', () => {
    const writes: Burst = { at: 0, priority: 'write', write: true, count: 1e9 }
    const { counted, countedWrites } = simulate({
      ...defaults,
      processes: [[writes], [endless]],
      untilMs: minutes(15),
    })
    expect(countBetween(countedWrites, minutes(5), minutes(15)) / 10).toBeGreaterThanOrEqual(
      0.92 * 120,
    )
    expect(maxInWindow(countedWrites, windowMs)).toBeLessThanOrEqual(118)
    expect(countBetween(counted, minutes(5), minutes(15)) / 10).toBeGreaterThanOrEqual(0.92 * limit)
  })

  test('processes of the same priority share evenly', () => {
    const { sent } = simulate({
      ...defaults,
      processes: [[endless], [endless], [endless]],
      untilMs: minutes(5),
    })
    const shares = [0, 1, 2].map(
      (process) => sent.filter((request) => request.process === process).length,
    )
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(40)
  })
})

test('processes that write alternate, and none waits much longer than the others', () => {
  const writes: Burst = { at: 0, priority: 'write', write: true, count: 1e9 }
  const checks: Burst = { at: 0, priority: 'write', write: false, count: 1e9 }
  const processes = Array(3).fill([writes, checks])
  const { sent, countedWrites } = simulate({ ...defaults, processes, untilMs: minutes(10) })
  const pauses = [0, 1, 2].map((process) => {
    const own = sent.filter((request) => request.process === process && request.write)
    const times = own.map(({ at }) => at).filter((at) => at > minutes(2))
    return Math.max(...times.slice(1).map((at, n) => at - times[n]!))
  })
  // Each gets every third of 117 write slots a minute.
  expect(Math.max(...pauses)).toBeLessThan(6000)
  expect(countBetween(countedWrites, minutes(5), minutes(10)) / 5).toBeGreaterThanOrEqual(
    0.92 * 120,
  )
})

describe('when another program uses the key as well', () => {
  const everyMs = (ms: number, until: number) =>
    Array.from({ length: until / ms }, (_, index) => index * ms)

  test.for([fixedWindow(11_000), slidingLog()])(
    'most of the remaining limit is used, and 429s stay rare ($name)',
    (server) => {
      const foreign = everyMs(200, minutes(60))
      const world = {
        ...defaults,
        servers: [server],
        answers429: true,
        foreign,
        processes: [[endless]],
      }
      const { counted, throttled } = simulate({ ...world, untilMs: minutes(60) })
      expect(countBetween(counted, minutes(10), minutes(60)) / 50).toBeGreaterThanOrEqual(
        0.5 * (limit - 300),
      )
      expect(throttled / counted.length).toBeLessThanOrEqual(0.01)
    },
  )

  test('once it has stopped, the slots grow back and all of them are used again', () => {
    const foreign = everyMs(200, minutes(15))
    const world = {
      ...defaults,
      servers: [slidingLog()],
      answers429: true,
      foreign,
      processes: [[endless]],
    }
    const { counted, state } = simulate({ ...world, untilMs: minutes(60) })
    expect(countBetween(counted, minutes(50), minutes(60)) / 10).toBeGreaterThanOrEqual(
      0.92 * limit,
    )
    expect(budgetView(policy, state, minutes(60)).slots).toBe(slots)
  })

  test('a reserve leaves the other program its share without a single 429', () => {
    const foreign = everyMs(400, minutes(20))
    const reserved = { ...policy, reserve: 0.3 }
    const world = {
      ...defaults,
      policy: reserved,
      servers: everyServer(),
      foreign,
      processes: [[endless]],
    }
    expect(simulate({ ...world, untilMs: minutes(20) }).refused).toEqual([])
  })
})
