/** What the budget promises against services that count in different ways, proven on the real decisions in simulated time. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BudgetPolicy, initialBudgetState, recordPriorUsage } from '../../../src/core/rate-limit/budget.ts'
import { budgetView } from '../../../src/core/rate-limit/estimate.ts'
import type { Priority } from '../../../src/core/rate-limit/priority.ts'
import { everyServer, fixedWindow, limit, refusals, slidingLog, windowMs } from './limited-servers.ts'
import { type Burst, countBetween, createRandom, type Latency, maxInWindow, simulate } from './simulated-world.ts'

const policy: BudgetPolicy = {
  rate: { requests: limit, windowMs },
  writeRate: { requests: 120, windowMs },
  reserve: 0,
}
const slots = 570
const endless: Burst = { at: 0, lane: 'backfill', write: false, count: 1e9 }
const minutes = (count: number) => count * 60_000

const latencies = {
  'always 50 ms': () => 50,
  'between 0 and 2 s': (dice) => dice() * 2000,
  'mostly quick, with a heavy tail up to 25 s': (dice) => Math.min(25_000, 150 / Math.max(1e-6, dice()) ** 0.9),
  'always 25 s': () => 25_000,
} satisfies Record<string, Latency>

const usual = { policy, servers: [], random: createRandom(1), latency: latencies['between 0 and 2 s'] }

describe.for(Object.entries(latencies))('with answers that take %s', ([name, latency]) => {
  test.for([1, 4])('%d processes that always want more get no 429, however the service counts', (processes) => {
    const { refused, counted } = saturated(processes, latency)
    expect(refused).toEqual([])
    expect(maxInWindow(counted, windowMs)).toBeLessThanOrEqual(slots)
  })

  const title =
    name === 'always 25 s'
      ? 'no safe client can use more than slots × 60/85 of the limit, and at least 95 % of that is used'
      : 'at least 92 % of the limit is used once it is under way'
  test.for([1, 4])(`${title} (%d processes)`, (processes) => {
    const used = countBetween(saturated(processes, latency).counted, minutes(5), minutes(20)) / 15
    expect(used).toBeGreaterThanOrEqual(name === 'always 25 s' ? 0.95 * slots * (60 / 85) : 0.92 * limit)
  })
})

function saturated(processes: number, latency: Latency) {
  const demand = Array.from({ length: processes }, () => [endless])
  return simulate({ ...usual, servers: everyServer(), processes: demand, latency, untilMs: minutes(20) })
}

test('at saturation requests are spread evenly: never more than 20 in a second after the first burst', () => {
  const sent = saturated(1, () => 50).sent.map(({ at }) => at)
  expect(maxInWindow(sent.slice(114), 1000)).toBeLessThanOrEqual(20)
})

test('a pass of 100 requests after a quiet minute is never slowed below 40 a second, even after a long saturated run', () => {
  const later = minutes(10)
  const before = { ...endless, count: 3000 }
  const { sent } = simulate({
    ...usual,
    processes: [[before, { ...endless, at: later, count: 100 }]],
    untilMs: minutes(11),
  })
  const pass = sent.filter(({ at }) => at >= later)
  expect(pass).toHaveLength(100)
  expect(pass.at(-1)!.at - later).toBeLessThanOrEqual(2500)
})

const lane = fc.constantFrom<Priority>('write', 'fresh', 'backfill', 'verify')
const burst = fc.record({
  at: fc.integer({ min: 30_000, max: minutes(8) }),
  lane,
  write: fc.boolean(),
  count: fc.integer({ min: 1, max: 1500 }),
})

test('whatever arrives, whenever, in however many processes, after whatever others spent: no 429 in any window', {
  timeout: 60_000,
}, () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(burst, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...Object.values(latencies)),
      fc.array(fc.integer({ min: 0, max: 29_000 }), { maxLength: slots }),
      fc.integer(),
      (processes, latency, others, dice) => {
        const earlier = others.sort((a, b) => a - b)
        const agoMs = 30_000 - (earlier.at(-1) ?? 0)
        const state = recordPriorUsage(policy, initialBudgetState, 30_000, {
          requests: earlier.length,
          writes: 0,
          agoMs,
        })
        const world = { policy, state, processes, latency, foreign: earlier, untilMs: minutes(10) }
        const history = simulate({ ...world, servers: everyServer(), random: createRandom(dice) })
        expect(history.refused).toEqual([])
        expect(maxInWindow([...earlier, ...history.counted], windowMs)).toBeLessThanOrEqual(slots)
        expect(refusals(everyServer(120), history.countedWrites)).toEqual([])
      },
    ),
    { numRuns: 100 },
  )
})

describe('lanes', () => {
  test('a more urgent lane of any process is served before a less urgent one of any other', () => {
    const urgent: Burst = { at: minutes(3), lane: 'fresh', write: false, count: 60 }
    const { sent } = simulate({ ...usual, processes: [[endless], [urgent], [endless]], untilMs: minutes(6) })
    const fresh = sent.filter((one) => one.lane === 'fresh')
    const meanwhile = sent.filter(({ at, lane }) => lane !== 'fresh' && at > minutes(3) && at < fresh.at(-1)!.at)
    expect(fresh).toHaveLength(60)
    // One may slip in before the urgent process has asked for the first time and been told to wait.
    expect(meanwhile.length).toBeLessThanOrEqual(1)
  })

  test('writes that have used up their own slots leave the rest to the reads', () => {
    const writes: Burst = { at: 0, lane: 'write', write: true, count: 1e9 }
    const { counted, countedWrites } = simulate({ ...usual, processes: [[writes], [endless]], untilMs: minutes(15) })
    expect(countBetween(countedWrites, minutes(5), minutes(15)) / 10).toBeGreaterThanOrEqual(0.92 * 120)
    expect(maxInWindow(countedWrites, windowMs)).toBeLessThanOrEqual(114)
    expect(countBetween(counted, minutes(5), minutes(15)) / 10).toBeGreaterThanOrEqual(0.92 * limit)
  })

  test('processes of one lane share evenly', () => {
    const { sent } = simulate({ ...usual, processes: [[endless], [endless], [endless]], untilMs: minutes(10) })
    const shares = [0, 1, 2].map((process) => sent.filter((one) => one.process === process).length)
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(40)
  })
})

test('processes that write take turns, and none waits much longer than the others', () => {
  const writes: Burst = { at: 0, lane: 'write', write: true, count: 1e9 }
  const looks: Burst = { at: 0, lane: 'write', write: false, count: 1e9 }
  const { sent, countedWrites } = simulate({
    ...usual,
    processes: [
      [writes, looks],
      [writes, looks],
      [writes, looks],
    ],
    untilMs: minutes(10),
  })
  const ofProcess = (process: number) => sent.filter((one) => one.process === process && one.write).map(({ at }) => at)
  const pauses = [0, 1, 2].map((process) => {
    const times = ofProcess(process).filter((at) => at > minutes(2))
    return Math.max(...times.slice(1).map((at, n) => at - times[n]!))
  })
  // Its turn is every third one of 114 a minute.
  expect(Math.max(...pauses)).toBeLessThan(6000)
  expect(countBetween(countedWrites, minutes(5), minutes(10)) / 5).toBeGreaterThanOrEqual(0.92 * 120)
})

describe('when another program uses the key as well', () => {
  const everyMs = (ms: number, until: number) => Array.from({ length: until / ms }, (_, index) => index * ms)

  test.for([fixedWindow(11_000), slidingLog()])(
    'most of what it leaves is used, and 429s stay rare ($name)',
    (server) => {
      const foreign = everyMs(200, minutes(60))
      const world = { ...usual, servers: [server], answers429: true, foreign, processes: [[endless]] }
      const { counted, throttled } = simulate({ ...world, untilMs: minutes(60) })
      expect(countBetween(counted, minutes(10), minutes(60)) / 50).toBeGreaterThanOrEqual(0.5 * (limit - 300))
      expect(throttled / counted.length).toBeLessThanOrEqual(0.01)
    },
  )

  test('once it has stopped, the slots grow back and all of them are used again', () => {
    const foreign = everyMs(200, minutes(15))
    const world = { ...usual, servers: [slidingLog()], answers429: true, foreign, processes: [[endless]] }
    const { counted, state } = simulate({ ...world, untilMs: minutes(60) })
    expect(countBetween(counted, minutes(50), minutes(60)) / 10).toBeGreaterThanOrEqual(0.92 * limit)
    expect(budgetView(policy, state, minutes(60)).slots).toBe(slots)
  })

  test('a reserve leaves it its share without a single 429', () => {
    const foreign = everyMs(400, minutes(20))
    const reserved = { ...policy, reserve: 0.3 }
    const world = { ...usual, policy: reserved, servers: everyServer(), foreign, processes: [[endless]] }
    expect(simulate({ ...world, untilMs: minutes(20) }).refused).toEqual([])
  })
})
