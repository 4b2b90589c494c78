/** What becomes of a budget whose record is lost or cannot be believed, and how the record is written down. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acquireSlot, type PendingRequest } from '../../../src/core/rate-limit/acquire-slot.ts'
import {
  type BudgetPolicy,
  type BudgetState,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
} from '../../../src/core/rate-limit/budget.ts'
import { budgetView, estimateSendMs } from '../../../src/core/rate-limit/estimate.ts'
import { closeBudget, distrustReason, startBudget } from '../../../src/core/rate-limit/fail-closed.ts'
import { decodeBudgetState, encodeBudgetState } from '../../../src/core/rate-limit/state-encoding.ts'
import { everyServer, limit, slidingLog, windowMs } from './limited-servers.ts'
import { type Burst, createRandom, deadlineMs, maxInWindow, simulate } from './simulated-world.ts'

const policy: BudgetPolicy = {
  rate: { requests: limit, windowMs },
  writeRate: { requests: 120, windowMs },
  reserve: 0,
}
const read: PendingRequest = { priority: 'fresh', write: false, deadlineMs }
const saturated: Burst = { at: 0, lane: 'backfill', write: false, count: 1e9 }

describe('a budget whose record was lost', () => {
  const closed = closeBudget(policy, initialBudgetState, 1000, deadlineMs)

  test('grants nothing for a deadline and a window, as if every slot had been taken at that moment', () => {
    const until = 1000 + deadlineMs + windowMs
    expect(acquireSlot(policy, closed, until - 1, 'me', [read]).decision).toHaveProperty('waitMs')
    expect(acquireSlot(policy, closed, until, 'me', [read]).decision).toHaveProperty('granted')
  })

  test('says so, and reckons with it', () => {
    expect(budgetView(policy, closed, 2000)).toMatchObject({
      closedForMs: deadlineMs + windowMs - 1000,
      pausedForMs: null,
    })
    expect(budgetView(policy, closed, 200_000)).toMatchObject({ closedForMs: null })
    expect(estimateSendMs(policy, closed, 2000, 1)).toBe(deadlineMs + windowMs - 1000)
  })

  test('keeps the pause that the service asked for, from the last that is known of it', () => {
    const slot = { grantedAt: 0, freeAt: 0, writeFreeAt: null }
    const paused = recordThrottle(policy, initialBudgetState, 5000, slot, 600_000)
    expect(budgetView(policy, closeBudget(policy, paused, 1e12, deadlineMs), 1e12)).toMatchObject({
      pausedForMs: 600_000,
      slots: 456,
    })
  })

  test('still knows nothing of a request that was under way then, and so outwaits it', () => {
    let sent = 0
    const { counted } = simulate({
      policy: { ...policy, rate: { requests: 1, windowMs } },
      recordLosses: [1000],
      unanswered: 1,
      countsLate: true,
      processes: [[saturated]],
      latency: () => (sent++ === 0 ? deadlineMs : 50),
      servers: [],
      untilMs: 200_000,
      random: createRandom(1),
    })
    expect(counted.length).toBeGreaterThanOrEqual(2)
    expect(maxInWindow(counted, windowMs)).toBe(1)
  })

  const worlds = fc.record({
    losses: fc.array(fc.integer({ min: 0, max: 500_000 }), { minLength: 1, maxLength: 4 }),
    unanswered: fc.constantFrom(0, 0.1, 0.5, 1),
    slow: fc.constantFrom(1000, 20_000, 29_000, 30_000),
    countsLate: fc.boolean(),
    // With few slots a single request that was forgotten is too many.
    allowed: fc.constantFrom(1, 3, 20, 600),
    processes: fc.integer({ min: 1, max: 4 }),
    dice: fc.integer(),
  })

  test('never lets the service count more than the limit in any window, whatever was under way, and whoever died', () => {
    fc.assert(
      fc.property(worlds, ({ slow, allowed, processes, dice, ...trouble }) => {
        const history = simulate({
          ...trouble,
          policy: { ...policy, rate: { requests: allowed, windowMs } },
          processes: Array.from({ length: processes }, () => [saturated]),
          latency: (random) => (random() < 0.5 ? slow : random() * 500),
          // An estimate of a sliding window is too rough for a few requests.
          servers: allowed < 600 ? [slidingLog(allowed)] : everyServer(),
          untilMs: 700_000,
          random: createRandom(dice),
        })
        expect(history.refused).toEqual([])
        expect(maxInWindow(history.counted, windowMs)).toBeLessThanOrEqual(Math.max(1, Math.floor(0.95 * allowed)))
      }),
      { numRuns: 100 },
    )
  })
})

describe('a record', () => {
  const at = 1_790_000_000_000
  const state: BudgetState = { ...initialBudgetState, at, era: 7 }
  const last = { state, now: at + 50, agoMs: 3000 }
  const found = { state, now: at + 3050, restarted: false }

  test.for<[string, Parameters<typeof distrustReason>]>([
    ['that is as it was', [found, last]],
    ['that others have moved on', [{ ...found, state: { ...state, at: at + 2000 } }, last]],
    ['that this process sees for the first time', [found, null]],
    [
      'whose keeper’s clock went back by less than a second',

      [
        { ...found, now: at - 900 },
        { ...last, agoMs: 0 },
      ],
    ],
    [
      'whose keeper’s clock and ours part as clocks do',

      [
        { ...found, now: at + 3_603_000 },
        { ...last, agoMs: 3_600_000 },
      ],
    ],
    [
      'that somebody has closed since, at whatever time',

      [{ ...found, state: { ...state, at: at - 9e6, era: 8 }, now: at - 9e6 }, last],
    ],
  ])('%s is believed', ([, [now, before]]) => {
    expect(distrustReason(now, before)).toBeNull()
  })

  test.for<[string, RegExp, Parameters<typeof distrustReason>]>([
    ['whose keeper was restarted', /restarted/, [{ ...found, restarted: true }, null]],
    ['whose keeper’s clock was set back', /set back by 5\.0 s/, [{ ...found, now: at - 5000 }, null]],
    ['that is older than what was seen', /older/, [{ ...found, state: { ...state, at: at - 1 } }, last]],
    ['from before the last closing', /older/, [{ ...found, state: { ...state, era: 6 } }, last]],
    ['whose keeper’s clock was set forward', /set forward by 2\.0 s/, [{ ...found, now: at + 5050 }, last]],
  ])('%s is not', ([, why, [now, before]]) => {
    expect(distrustReason(now, before)).toMatch(why)
  })

  test('of one who closes or begins is newer than any before, even where the clock was set back', () => {
    const later = closeBudget(policy, state, at, deadlineMs)
    expect(later.era).toBeGreaterThan(state.era)
    expect(closeBudget(policy, later, 5, deadlineMs).era).toBeGreaterThan(later.era)
    expect(startBudget(later, 5).era).toBeGreaterThan(later.era)
  })
})

describe('the text of a record', () => {
  const slots = fc
    .uniqueArray(fc.oneof(fc.integer({ min: 0, max: 1e10 }), fc.double({ min: 0, max: 1e13, noNaN: true })), {
      maxLength: 700,
    })
    .chain((moments) =>
      fc
        .array(fc.integer({ min: 1, max: 5000 }), { minLength: moments.length, maxLength: moments.length })
        .map((counts) => ({
          total: counts.reduce((sum, count) => sum + count, 0),
          batches: moments.sort((a, b) => a - b).map((freeAt, index) => ({ freeAt, count: counts[index]! })),
        })),
    )
  const moment = fc.double({ min: -1e13, max: 1e13, noNaN: true }).map((value) => value + 0)
  const pool = fc.record({ taken: slots, pacedAt: moment })
  const anyState: fc.Arbitrary<BudgetState> = fc.record({
    at: moment,
    all: pool,
    writes: pool,
    pausedUntil: moment,
    closedUntil: moment,
    era: fc.nat(),
    shrunk: fc.record({ at: moment, share: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0) }),
    throttled: fc.nat(),
    waiters: fc.array(fc.record({ holder: fc.string(), rank: fc.nat(3), since: moment, until: moment }), {
      maxLength: 9,
    }),
  })

  test('gives back exactly what was written', () => {
    fc.assert(
      fc.property(anyState, fc.integer({ min: 1, max: 3_600_000 }), (state, window) => {
        const rated = { ...policy, rate: { requests: 600, windowMs: window } }
        expect(decodeBudgetState(encodeBudgetState(rated, state))).toEqual(state)
      }),
      { numRuns: 200 },
    )
  })

  test.for([2000, 60_000])('of a saturated budget is short, and exact (a window of %d ms)', (window) => {
    const rated = {
      ...policy,
      rate: { requests: 600, windowMs: window },
      writeRate: { requests: 600, windowMs: window },
    }
    let state = initialBudgetState
    for (let step = 0; step < 1200; step += 1) {
      const now = 1_790_000_000_000 + (step * window) / 600
      const taken = acquireSlot(rated, state, now, 'me', [{ ...read, write: true }])
      state =
        'slot' in taken.decision ? releaseSlot(rated, taken.state, now, taken.decision.slot, 'answered') : taken.state
    }
    expect(budgetView(rated, state, state.at).inUse).toBeGreaterThan(550)
    const text = encodeBudgetState(rated, state)
    expect(text.length).toBeLessThan(4096)
    expect(decodeBudgetState(text)).toEqual(state)
  })

  test.for([
    '',
    'null',
    '7',
    '[]',
    '{}',
    '{"form":1}',
    '{"form":2}',
    '{"form":1,"all":[1,2,"x y"],"writes":[],"turns":[]}',
  ])('that cannot be read counts as lost: %s', (text) => {
    expect(decodeBudgetState(text)).toBeNull()
  })

  test('cut off anywhere counts as lost', () => {
    const text = encodeBudgetState(policy, closeBudget(policy, initialBudgetState, 5, 5))
    for (let length = 0; length < text.length; length += 1) expect(decodeBudgetState(text.slice(0, length))).toBeNull()
  })
})
