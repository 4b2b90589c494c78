/**
 * Single decisions of the budget: which slots are taken and for how long, and what the budget
 * reports.
 */
import { describe, expect, test } from 'vitest'
import { acquireSlot, type PendingRequest } from '../../../src/service/core/acquire-slot.ts'
import {
  type BudgetState,
  budgetView,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
  type Slot,
  steadyLimits,
} from '../../../src/service/core/budget.ts'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'
import { maxDurationMs, withTakenSlots } from './simulated-world.ts'

const windowMs = 60_000
const policy: BudgetPolicy = {
  rate: { requests: 600, windowMs },
  writeRate: { requests: 120, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}
const read: PendingRequest = { priority: 'fresh', write: false, maxDurationMs }
const write: PendingRequest = { priority: 'write', write: true, maxDurationMs }

/** Takes as many slots as are granted at that time. */
function takeAll(
  state: BudgetState,
  now: number,
  request: PendingRequest,
  max: number,
  by = policy,
) {
  const slots: Slot[] = []
  let current = state
  while (slots.length < max) {
    const { state: next, decision } = acquireSlot(by, current, now, 'me', [request])
    current = next
    if ('waitMs' in decision) break
    slots.push(decision.slot)
  }
  return { state: current, slots }
}

const answer = (state: BudgetState, now: number, slots: readonly Slot[]) =>
  slots.reduce((before, slot) => releaseSlot(policy, before, now, slot, 'responded'), state)

describe('a slot', () => {
  test('is free again one window after the response, and not a millisecond earlier', () => {
    const single: BudgetPolicy = { ...policy, rate: { requests: 1, windowMs }, rateMargin: 0 }
    const { state, slots } = takeAll(initialBudgetState, 0, read, 1, single)
    const responded = releaseSlot(single, state, 20_000, slots[0]!, 'responded')
    expect(acquireSlot(single, responded, 79_999, 'me', [read]).decision).toHaveProperty('waitMs')
    expect(acquireSlot(single, responded, 80_000, 'me', [read]).decision).toHaveProperty(
      'granted',
      0,
    )
  })

  test('without a response is free again one window after the deadline', () => {
    const single: BudgetPolicy = { ...policy, rate: { requests: 1, windowMs }, rateMargin: 0 }
    const { state } = takeAll(initialBudgetState, 0, read, 1, single)
    expect(
      acquireSlot(single, state, maxDurationMs + windowMs - 1, 'me', [read]).decision,
    ).toHaveProperty('waitMs')
    expect(
      acquireSlot(single, state, maxDurationMs + windowMs, 'me', [read]).decision,
    ).toHaveProperty('granted', 0)
  })

  test('of a request that was never sent is free at once', () => {
    const { state, slots } = takeAll(initialBudgetState, 0, write, 1)
    const after = releaseSlot(policy, state, 10, slots[0]!, 'unsent')
    expect(budgetView(policy, after, 10).inUse).toBe(0)
    expect(after.writes.taken.total).toBe(0)
  })
})

describe('a clock that is set back', () => {
  test('makes no slot free earlier or later than it would have been', () => {
    const full = withTakenSlots(1e12, 1e12 + windowMs, 588)
    const { state } = acquireSlot(policy, full, 1e12 - 3_600_000, 'me', [read])
    expect(budgetView(policy, state, 1e12 - 3_600_000 + windowMs - 1).inUse).toBe(588)
    expect(budgetView(policy, state, 1e12 - 3_600_000 + windowMs).inUse).toBe(0)
  })
})

describe('a 429', () => {
  const { state, slots } = takeAll(initialBudgetState, 0, read, 100)

  test('pauses all priorities of all processes for as long as the service says', () => {
    const after = recordThrottle(policy, state, 50, slots[0]!, 7000)
    for (const request of [read, write]) {
      expect(acquireSlot(policy, after, 7049, 'other', [request]).decision).toHaveProperty(
        'waitMs',
        1,
      )
      expect(acquireSlot(policy, after, 7050, 'other', [request]).decision).toHaveProperty(
        'granted',
      )
    }
    expect(budgetView(policy, after, 50)).toMatchObject({ pausedForMs: 7000, throttled: 1 })
  })

  test('takes a fifth of the slots, once for all requests that were under way', () => {
    const after = slots.reduce(
      (before, slot) => recordThrottle(policy, before, 50, slot, 1000),
      state,
    )
    expect(budgetView(policy, after, 50)).toMatchObject({ slots: 470, throttled: 100 })
  })

  test('that repeats leaves a tenth of the slots', () => {
    let after = state
    for (let now = 1; now <= 30; now += 1) {
      after = recordThrottle(policy, after, now, { ...slots[0]!, grantedAt: now }, 1000)
    }
    expect(budgetView(policy, after, 30).slots).toBe(58)
  })

  test('that is not followed by another gives the slots back gradually', () => {
    const after = recordThrottle(policy, state, 0, slots[0]!, 1000)
    const available = [0, 1, 4, 8, 20].map(
      (windows) => budgetView(policy, after, windows * windowMs).slots,
    )
    expect(available).toEqual([470, 485, 529, 588, 588])
  })
})

describe('limits of any size', () => {
  test('one request a minute is one request a minute', () => {
    const single: BudgetPolicy = { ...policy, rate: { requests: 1, windowMs } }
    expect(takeAll(initialBudgetState, 0, read, 5, single).slots).toHaveLength(1)
  })

  test('a million a minute: the state stays small however many requests are under way', () => {
    const huge: BudgetPolicy = { ...policy, rate: { requests: 1_000_000, windowMs } }
    let state = initialBudgetState
    for (let now = 0; now < 100_000; now += 10) {
      const taken = takeAll(state, now, read, 5, huge)
      state = taken.slots.reduce(
        (before, slot) => releaseSlot(huge, before, now + 5, slot, 'responded'),
        taken.state,
      )
    }
    expect(budgetView(huge, state, 100_000).inUse).toBeGreaterThan(29_000)
    expect(state.all.taken.batches.length).toBeLessThanOrEqual(614)
  })

  test('the margin is left unused, of requests and of writes', () => {
    const { all, writes } = steadyLimits({ ...policy, rateMargin: 0.05 })
    expect([all.slots, writes.slots]).toEqual([570, 114])
    expect(budgetView({ ...policy, rateMargin: 0 }, initialBudgetState, 0).slots).toBe(600)
  })

  test('a window that is longer by the margin holds no more requests than the limit', () => {
    const hundred: BudgetPolicy = { ...policy, rate: { requests: 100, windowMs }, rateMargin: 0.1 }
    const full = withTakenSlots(0, windowMs, 90)
    const countGranted = (now: number) => takeAll(full, now, read, 100, hundred).slots.length
    expect([windowMs - 1, windowMs, 1.1 * windowMs - 1, 1.1 * windowMs].map(countGranted)).toEqual([
      0, 10, 10, 18,
    ])
    expect(budgetView(hundred, full, windowMs).inUse).toBe(0)
  })

  test('a reserve is left to others', () => {
    expect(budgetView({ ...policy, reserve: 0.5 }, initialBudgetState, 0).slots).toBe(294)
  })
})

test('the state is plain data, so that any store can hold it', () => {
  const { state, slots } = takeAll(initialBudgetState, 0, read, 100)
  const changed = acquireSlot(policy, answer(state, 50, slots.slice(50)), 60, 'me', [
    write,
    read,
  ]).state
  expect(JSON.parse(JSON.stringify(changed))).toEqual(changed)
})
