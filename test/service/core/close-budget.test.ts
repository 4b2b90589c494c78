/**
 * How a budget closes when its record is lost or cannot be trusted, and how the record is encoded.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acquireSlot, type PendingRequest } from '../../../src/service/core/acquire-slot.ts'
import {
  type BudgetState,
  budgetView,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
} from '../../../src/service/core/budget.ts'
import { decodeBudgetState, encodeBudgetState } from '../../../src/service/core/budget-record.ts'
import { closeBudget, invalidReason, startBudget } from '../../../src/service/core/close-budget.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { everyServer, policy, slidingLog, windowMs } from './limited-servers.ts'
import { type Burst, maxDurationMs, maxInWindow, simulate } from './simulated-world.ts'

const read: PendingRequest = { priority: 'fresh', write: false, maxDurationMs }
const saturated: Burst = { at: 0, priority: 'backfill', write: false, count: 1e9 }

describe('a budget whose record was lost', () => {
  const closed = closeBudget(policy, initialBudgetState, 1000, maxDurationMs)

  test('grants nothing for a deadline and a window, as if every slot had been taken at that time', () => {
    const until = 1000 + maxDurationMs + windowMs
    expect(acquireSlot(policy, closed, until - 1, 'me', [read]).decision).toHaveProperty('waitMs')
    expect(acquireSlot(policy, closed, until, 'me', [read]).decision).toHaveProperty('granted')
  })

  test('reports it', () => {
    const closedForMs = maxDurationMs + windowMs - 1000
    expect(budgetView(policy, closed, 2000)).toMatchObject({ closedForMs, pausedForMs: null })
    expect(budgetView(policy, closed, 200_000)).toMatchObject({ closedForMs: null })
  })

  test('keeps the pause that the service asked for, as far as it is known', () => {
    const slot = { grantedAt: 0, freeAt: 0, writeFreeAt: null }
    const paused = recordThrottle(policy, initialBudgetState, 5000, slot, 600_000)
    expect(
      budgetView(policy, closeBudget(policy, paused, 1e12, maxDurationMs), 1e12),
    ).toMatchObject({
      pausedForMs: 600_000,
      slots: 470,
    })
  })

  test('waits longer than any unknown request that was under way can last', () => {
    let sent = 0
    const { counted } = simulate({
      policy: { ...policy, rate: { requests: 1, windowMs } },
      recordLosses: [1000],
      unanswered: 1,
      countsLate: true,
      processes: [[saturated]],
      latency: () => (sent++ === 0 ? maxDurationMs : 50),
      servers: [],
      untilMs: 200_000,
      random: seededRandom(1),
    })
    expect(counted.length).toBeGreaterThanOrEqual(2)
    expect(maxInWindow(counted, windowMs)).toBe(1)
  })

  const scenarios = fc.record({
    recordLosses: fc.array(fc.integer({ min: 0, max: 500_000 }), { minLength: 1, maxLength: 4 }),
    unanswered: fc.constantFrom(0, 0.1, 0.5, 1),
    slow: fc.constantFrom(1000, 20_000, 29_000, 30_000),
    countsLate: fc.boolean(),
    // With few slots a single request that is not counted is too many.
    allowed: fc.constantFrom(1, 3, 20, 600),
    processes: fc.integer({ min: 1, max: 4 }),
    seed: fc.integer(),
  })

  test('never lets the service count more than the limit in any window, whatever was under way or died', () => {
    fc.assert(
      fc.property(scenarios, ({ slow, allowed, processes, seed, ...faults }) => {
        const history = simulate({
          ...faults,
          policy: { ...policy, rate: { requests: allowed, windowMs } },
          processes: Array.from({ length: processes }, () => [saturated]),
          latency: (random) => (random() < 0.5 ? slow : random() * 500),
          // An estimate of a sliding window is too rough for a few requests.
          servers: allowed < 600 ? [slidingLog(allowed)] : everyServer(),
          untilMs: 700_000,
          random: seededRandom(seed),
        })
        expect(history.refused).toEqual([])
        expect(maxInWindow(history.counted, windowMs)).toBeLessThanOrEqual(
          Math.max(1, Math.floor(0.98 * allowed)),
        )
      }),
      { numRuns: 100 },
    )
  })
})

type Readings = [
  found: Parameters<typeof invalidReason>[0],
  last: Parameters<typeof invalidReason>[1],
]

describe('a record', () => {
  const at = 1_790_000_000_000
  const state: BudgetState = { ...initialBudgetState, at, generation: 7 }
  const last = { state, now: at + 50, agoMs: 3000, gainMs: 400 }
  const found = { state, now: at + 3050, restarted: false }
  const foundAt = (now: number) => ({ ...found, now })
  const seenAgo = (agoMs: number, gainMs = 0) => ({ ...last, agoMs, gainMs })
  const closedSince = { ...state, at: at - 9e6, generation: 8 }

  test.for<[string, Readings]>([
    ['that is unchanged', [found, last]],
    ['that others have changed', [{ ...found, state: { ...state, at: at + 2000 } }, last]],
    ['that this process sees for the first time', [found, null]],
    ['of a store whose clock went back by less than a second', [foundAt(at - 900), seenAgo(0)]],
    [
      'of a store whose clock drifts from ours as clocks do',
      [foundAt(at + 3_603_000), seenAgo(3_600_000, 3000)],
    ],
    [
      'that another process has closed since, at whatever time',
      [{ ...foundAt(at - 9e6), state: closedSince }, last],
    ],
  ])('%s is trusted', ([, [now, before]]) => {
    expect(invalidReason(now, before, windowMs)).toBeNull()
  })

  test.for<[string, RegExp, Readings]>([
    ['of a store that restarted', /restarted/, [{ ...found, restarted: true }, null]],
    [
      'of a store whose clock was set back',
      /set back by 5\.0 s/,
      [{ ...found, now: at - 5000 }, null],
    ],
    [
      'that is older than the last one seen',
      /older/,
      [{ ...found, state: { ...state, at: at - 1 } }, last],
    ],
    [
      'from before the budget was closed',
      /older/,
      [{ ...found, state: { ...state, generation: 6 } }, last],
    ],
    [
      'of a store whose clock ran ahead slowly',
      /ran ahead by 0\.5 s/,
      [found, { ...last, gainMs: 540 }],
    ],
    [
      'of a store whose clock was set forward',
      /set forward by 2\.0 s/,
      [{ ...found, now: at + 5050 }, last],
    ],
  ])('%s is not trusted', ([, why, [now, before]]) => {
    expect(invalidReason(now, before, windowMs)).toMatch(why)
  })

  test('that closes or starts a budget is newer than any before, even if the clock was set back', () => {
    const later = closeBudget(policy, state, at, maxDurationMs)
    expect(later.generation).toBeGreaterThan(state.generation)
    expect(closeBudget(policy, later, 5, maxDurationMs).generation).toBeGreaterThan(
      later.generation,
    )
    expect(startBudget(later, 5).generation).toBeGreaterThan(later.generation)
  })
})

describe('the encoded state', () => {
  const slots = fc
    .uniqueArray(
      fc.oneof(fc.integer({ min: 0, max: 1e10 }), fc.double({ min: 0, max: 1e13, noNaN: true })),
      {
        maxLength: 700,
      },
    )
    .chain((times) =>
      fc
        .array(fc.integer({ min: 1, max: 5000 }), {
          minLength: times.length,
          maxLength: times.length,
        })
        .map((counts) => ({
          total: counts.reduce((sum, count) => sum + count, 0),
          batches: times
            .sort((a, b) => a - b)
            .map((freeAt, index) => ({ freeAt, count: counts[index]! })),
        })),
    )
  const time = fc.double({ min: -1e13, max: 1e13, noNaN: true }).map((value) => value + 0)
  const usage = fc.record({ taken: slots, pacedAt: time })
  const anyState: fc.Arbitrary<BudgetState> = fc.record({
    at: time,
    all: usage,
    writes: usage,
    pausedUntil: time,
    closedUntil: time,
    generation: fc.nat(),
    reduction: fc.record({
      at: time,
      share: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
    }),
    throttled: fc.nat(),
    waiters: fc.array(fc.record({ id: fc.string(), rank: fc.nat(3), since: time, until: time }), {
      maxLength: 9,
    }),
  })

  test('decodes to exactly what was encoded', () => {
    fc.assert(
      fc.property(anyState, fc.integer({ min: 1, max: 3_600_000 }), (state, window) => {
        const rated = { ...policy, rate: { requests: 600, windowMs: window } }
        expect(decodeBudgetState(encodeBudgetState(rated, state))).toEqual(state)
      }),
      { numRuns: 200 },
    )
  })

  test.for([2000, 60_000])(
    'of a saturated budget is short, and exact (a window of %d ms)',
    (window) => {
      const rate = { requests: 600, windowMs: window }
      const rated = { ...policy, rate, writeRate: rate }
      let state = initialBudgetState
      for (let step = 0; step < 1200; step += 1) {
        const now = 1_790_000_000_000 + (step * window) / 600
        const taken = acquireSlot(rated, state, now, 'me', [{ ...read, write: true }])
        state =
          'slot' in taken.decision
            ? releaseSlot(rated, taken.state, now, taken.decision.slot, 'responded')
            : taken.state
      }
      expect(budgetView(rated, state, state.at).inUse).toBeGreaterThan(550)
      const text = encodeBudgetState(rated, state)
      expect(text.length).toBeLessThan(4096)
      expect(decodeBudgetState(text)).toEqual(state)
    },
  )

  test('of another format counts as lost', () => {
    const { format, ...state } = JSON.parse(encodeBudgetState(policy, initialBudgetState))
    expect(decodeBudgetState(JSON.stringify({ format, ...state }))).toEqual(initialBudgetState)
    for (const other of [
      state,
      { format: format + 1, ...state },
      { format: String(format), ...state },
    ])
      expect(decodeBudgetState(JSON.stringify(other))).toBeNull()
  })

  test('that lacks a part counts as lost', () => {
    const encoded = JSON.parse(encodeBudgetState(policy, initialBudgetState))
    for (const part of Object.keys(encoded))
      expect(decodeBudgetState(JSON.stringify({ ...encoded, [part]: undefined }))).toBeNull()
  })

  const damaged = '{"format":1,"all":[1,2,"x y"],"writes":[],"waiters":[]}'
  test.for(['', 'null', '7', '[]', '{}', '{"format":1}', damaged])(
    'that cannot be decoded counts as lost: %s',
    (text) => {
      expect(decodeBudgetState(text)).toBeNull()
    },
  )

  test('truncated anywhere counts as lost', () => {
    const text = encodeBudgetState(policy, closeBudget(policy, initialBudgetState, 5, 5))
    for (let length = 0; length < text.length; length += 1)
      expect(decodeBudgetState(text.slice(0, length))).toBeNull()
  })
})
