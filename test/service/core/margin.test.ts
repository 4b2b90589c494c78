/** How the margin of a limit is learned, and what of it is stored. */
import { describe, expect, test } from 'vitest'
import {
  afterResponse,
  afterThrottle,
  type BudgetPolicy,
  changedMargins,
  decodeMargins,
  type LearnedMargin,
  learnedMargin,
  marginPercent,
  wideMargin,
} from '../../../src/service/core/margin.ts'
import { usualPolicy } from '../../support/budget-policy.ts'

const { rate } = usualPolicy
const { windowMs } = rate

/** A window with so many responses, and the first response of the next one. */
function afterWindow(before: LearnedMargin, responses: number, isEvidence = true): LearnedMargin {
  const counted = { ...before, responses }
  return afterResponse(counted, rate, before.windowFrom + windowMs, isEvidence)
}

function afterWindows(before: LearnedMargin, windows: readonly number[]): LearnedMargin {
  return windows.reduce((margin, responses) => afterWindow(margin, responses), before)
}

const full = (count: number) => Array.from({ length: count }, () => 590)

describe('without a 429', () => {
  test.for([
    { windows: 0, percent: 5 },
    { windows: 9, percent: 5 },
    { windows: 10, percent: 4 },
    { windows: 11, percent: 3 },
    { windows: 12, percent: 2 },
    { windows: 13, percent: 1 },
    { windows: 500, percent: 1 },
  ])('after $windows windows near the limit the margin is $percent %', ({ windows, percent }) => {
    expect(marginPercent(afterWindows(wideMargin, full(windows)))).toBe(percent)
  })

  test('windows with fewer requests prove nothing: 95 % of the slots must be used', () => {
    const quiet = [0, 30, 541, 542]
    expect(quiet.map((responses) => afterWindow(wideMargin, responses).quietWindows)).toEqual([0, 0, 0, 1])
  })

  test('windows with fewer requests undo nothing either', () => {
    expect(marginPercent(afterWindows(wideMargin, [...full(13), 3, 0, 100]))).toBe(1)
  })

  test('windows in which the slots are reduced prove nothing', () => {
    expect(afterWindow(wideMargin, 590, false).quietWindows).toBe(0)
  })

  test('a window ends with the first response after it; a pause belongs to none', () => {
    let margin = wideMargin
    for (let at = 0; at < windowMs; at += 100) margin = afterResponse(margin, rate, at, true)
    expect(margin).toMatchObject({ quietWindows: 0, responses: 600, windowFrom: 0 })
    expect(afterResponse(margin, rate, 10 * windowMs, true)).toEqual({
      ...margin,
      quietWindows: 1,
      windowFrom: 10 * windowMs,
      responses: 1,
    })
  })
})

describe('a 429', () => {
  const narrow = learnedMargin(1, 0)

  test('makes the margin wide at once, and it is never again as narrow as it was', () => {
    const after = afterThrottle(narrow, rate, 0, 594)
    expect([marginPercent(after), after.refusedPercent]).toEqual([5, 1])
    expect(marginPercent(afterWindows(after, full(9)))).toBe(5)
    expect(marginPercent(afterWindows(after, full(50)))).toBe(2)
  })

  test.for([
    { taken: 594, percent: 1 },
    { taken: 588, percent: 2 },
    { taken: 585, percent: 2 },
    { taken: 582, percent: 3 },
    { taken: 576, percent: 4 },
  ])('with $taken of 600 slots taken shows that $percent % is too narrow', ({ taken, percent }) => {
    expect(afterThrottle(narrow, rate, 0, taken).refusedPercent).toBe(percent)
  })

  test('with no more slots taken than a wide margin leaves says nothing about narrower ones', () => {
    expect(afterThrottle(narrow, rate, 0, 570)).toMatchObject({ quietWindows: 0, refusedPercent: 0 })
  })

  test('with fewer slots taken comes from another program, and changes nothing but the window', () => {
    expect(afterThrottle({ ...narrow, responses: 300 }, rate, 7, 569)).toEqual({ ...narrow, windowFrom: 7 })
  })

  test('at a wider margin than before widens further; at a narrower one does not narrow', () => {
    const after = afterThrottle(narrow, rate, 0, 588)
    expect(afterThrottle(after, rate, 0, 576).refusedPercent).toBe(4)
    expect(afterThrottle(after, rate, 0, 594).refusedPercent).toBe(2)
  })

  test('is forgotten in steps: after a day at the limit the next narrower margin is tried', () => {
    const after = afterThrottle(narrow, rate, 0, 588)
    expect(marginPercent(afterWindows(after, full(1439)))).toBe(3)
    expect(marginPercent(afterWindows(after, full(1440)))).toBe(2)
  })
})

describe('as a behaviour of the service', () => {
  const policy: BudgetPolicy = usualPolicy
  const both = (all: LearnedMargin, writes = wideMargin) => ({ all, writes })

  test('it is stored when it changes, with what showed it', () => {
    const narrowing = both(afterWindows(wideMargin, full(10)))
    expect(changedMargins(policy, both(wideMargin), narrowing)).toEqual([
      { name: 'rate.margin', value: '4 %', evidence: 'no 429 in 10 windows near 600 in 60 s' },
    ])
    const refused = both(narrowing.all, afterThrottle(learnedMargin(2, 0), policy.writeRate, 0, 117))
    expect(changedMargins(policy, both(narrowing.all, learnedMargin(2, 0)), refused)).toEqual([
      {
        name: 'write_rate.margin',
        value: '5 %, as 2 % was too narrow',
        evidence: 'the service answered 429 near 120 in 60 s, with a margin of 2 %',
      },
    ])
  })

  test('a window that changes no margin stores nothing', () => {
    expect(changedMargins(policy, both(wideMargin), both(afterWindow(wideMargin, 590)))).toEqual([])
  })

  test.for([
    { percent: 5, refused: 0 },
    { percent: 5, refused: 2 },
    { percent: 4, refused: 3 },
    { percent: 1, refused: 0 },
  ])('a margin of $percent %, after a 429 at $refused %, is read again as it was stored', ({ percent, refused }) => {
    const margins = { all: learnedMargin(percent, refused), writes: learnedMargin(percent, refused) }
    const other = { all: learnedMargin(3, 1), writes: learnedMargin(3, 1) }
    const stored = changedMargins(policy, other, margins).map(({ name, value }) => [name, value] as const)
    expect(decodeMargins(new Map(stored))).toEqual(margins)
    expect(marginPercent(margins.all)).toBe(percent)
  })

  test.for(['', '0 %', '12 %', '5', '1 %, as 9 % was too narrow'])(
    'what cannot be read is a wide margin: %j',
    (value) => {
      expect(decodeMargins(new Map([['rate.margin', value]]))).toEqual(both(wideMargin))
    },
  )
})
