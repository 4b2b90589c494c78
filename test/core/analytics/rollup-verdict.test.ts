/** Learning what a number of the service's rollups counts, and reporting when it counts something else. */
import { describe, expect, test } from 'vitest'
import { asShown, isEqualAsShown, isFinalDay } from '../../../src/core/analytics/compare-rollup-day.ts'
import { type LearnedDefinition, learnDefinition } from '../../../src/core/analytics/learn-rollup-definition.ts'
import { toDefinitionChange } from '../../../src/core/analytics/proven-definition.ts'
import type { Candidate } from '../../../src/core/analytics/rollup-definitions.ts'

const candidate = (name: string, values: readonly (number | null)[], complexity = 0): Candidate => ({
  name,
  divisor: 1,
  values: Float64Array.from(values, (value) => value ?? Number.NaN),
  complexity,
})
const numbers = (count: number, offset = 0) => Array.from({ length: count }, (_, day) => ((day * 7) % 10) + offset)

describe('a definition is learned from the days on which it is equal', () => {
  const learned = (service: readonly (number | null)[], ...candidates: readonly Candidate[]) => {
    const { best, ...result } = learnDefinition(service, candidates)
    return { ...result, best: best?.name ?? null }
  }

  test('proven: equal on at least 14 days of various values, and no other one fits', () => {
    expect(learned(numbers(20), candidate('wrong', numbers(20, 1)), candidate('right', numbers(20)))).toEqual({
      ...{ verdict: 'proven' as const, best: 'right', days: 20, days_equal: 20, distinct_values: 10 },
      ...{ as_good: 0, next_best_equal: 0, mean_difference: 0 },
    })
  })

  test('candidates that are equal on all days are one answer, named by the simplest', () => {
    const [plain, filtered] = [candidate('plain', numbers(20)), candidate('filtered', numbers(20), 2)]
    expect(learned(numbers(20), filtered, plain)).toMatchObject({ verdict: 'proven', best: 'plain', as_good: 1 })
  })

  const almost = numbers(20).with(3, 99)
  const cases: Readonly<
    Record<string, readonly [service: readonly number[], own: readonly number[], verdict: string]>
  > = {
    'few days': [numbers(10), numbers(10), 'likely'],
    'very few days': [numbers(6), numbers(6), 'unknown'],
    'one day of twenty differs': [almost, numbers(20), 'likely'],
    'two days of twenty differ': [almost.with(14, 99), numbers(20), 'unknown'],
    'the same number every day': [numbers(20).fill(0), numbers(20).fill(0), 'unknown'],
  }
  test.each(Object.entries(cases))('%s', (_, [service, own, verdict]) => {
    expect(learned(service, candidate('right', own)).verdict).toBe(verdict)
  })

  test('another candidate that fits nearly as well leaves a doubt', () => {
    const rival = candidate('rival', numbers(20).with(3, 99).with(4, 99))
    expect(learned(numbers(20), candidate('right', numbers(20)), rival)).toMatchObject({
      ...{ verdict: 'likely', best: 'right', next_best_equal: 18 },
    })
  })

  test('without days or candidates nothing is known', () => {
    expect(learned([], candidate('right', []))).toMatchObject({ verdict: 'unknown', best: null, mean_difference: null })
    expect(learned(numbers(20))).toMatchObject({ verdict: 'unknown', best: null, days: 20 })
  })

  test('days that are not final, or lack the number, do not count', () => {
    const service = numbers(20).map((value, day) => (day < 4 ? null : value))
    const own = numbers(20).map((value, day) => (day < 4 ? 99 : value))
    expect(learned(service, candidate('right', own))).toMatchObject({ verdict: 'proven', days: 16, days_equal: 16 })
  })

  describe('the service may change what it counts', () => {
    const [before, after] = [candidate('before', numbers(60)), candidate('after', numbers(60, 1))]
    const changedAt = (day: number) => [...numbers(day), ...numbers(60, 1).slice(day)]
    const learnedAfter = (day: number) => {
      const { best, ...result } = learnDefinition(changedAt(day), [before, after], 'before')
      return { ...result, best: best?.name }
    }

    test('a proven definition stays, with the days that differ', () => {
      expect(learnedAfter(59)).toMatchObject({ verdict: 'likely', best: 'before', days: 60, days_equal: 59 })
      expect(learnedAfter(50)).toMatchObject({ verdict: 'unknown', best: 'before', days: 60, days_equal: 50 })
    })

    test('until the days since then prove another one', () => {
      expect(learnedAfter(46)).toMatchObject({ verdict: 'proven', best: 'after', days: 14, days_equal: 14 })
    })

    test('a proven definition keeps its name while another one is equal on all days', () => {
      const same = candidate('a simpler one', numbers(60))
      expect(learnDefinition(numbers(60), [same, candidate('before', numbers(60), 5)], 'before').best?.name).toBe(
        'before',
      )
    })
  })
})

test('equal means: to the digits that the service shows', () => {
  expect([
    isEqualAsShown(12, 12.4),
    isEqualAsShown(12, 12.6),
    isEqualAsShown(12.3, 12.34),
    isEqualAsShown(12.3, 12.36),
  ]).toEqual([...[true, false, true, false]])
  expect([isEqualAsShown(0, null), isEqualAsShown(1, null)]).toEqual([true, false])
  expect([asShown(12, 12.4), asShown(12, 12.6), asShown(0, null), asShown(1, null)]).toEqual([12, 12.6, 0, null])
})

describe('a day is compared once it is final', () => {
  const [end, later] = [86_400, 90_000]
  const final = { endsAt: end, readAt: later, mirroredAt: later, hasGap: false, isComplete: true }
  test.each([
    ['it ended an hour before it was read, and before the mirror was', {}, true],
    ['it was read before late rows came', { readAt: later - 1 }, false],
    ['the mirror was read before late rows came', { mirroredAt: later - 1 }, false],
    ['the mirror has a gap', { hasGap: true }, false],
    ['a conversation is not complete', { isComplete: false }, false],
  ])('%s', (_, change, isFinal) => expect(isFinalDay({ ...final, ...change })).toBe(isFinal))
})

describe('a definition that is proven is a behaviour of the service', () => {
  const learned: LearnedDefinition = {
    ...{ verdict: 'proven' as const, best: candidate('by creation', []), days: 60, days_equal: 60, distinct_values: 9 },
    ...{ as_good: 0, next_best_equal: 20, mean_difference: 0 },
  }
  const name = 'analytics.conversations.started'
  const evidence = 'equal on 60 of 60 final days; the next best definition on 20'
  const change = (over: Partial<LearnedDefinition>, proven: string | null, wasEqual = true) =>
    toDefinitionChange('conversations.started', { ...learned, ...over }, { proven, wasEqual })

  test('it is recorded once', () => {
    expect(change({}, null)).toEqual({ behaviour: { name, value: 'by creation', evidence }, notice: null })
    expect(change({}, 'by creation')).toEqual({ behaviour: null, notice: null })
  })

  test('another one that is proven is a changed behaviour', () => {
    expect(change({}, 'by last message')).toEqual({
      behaviour: { name, value: 'by creation', evidence },
      notice: `The service's behaviour changed: ${name} was "by last message" and is now "by creation" (${evidence}).`,
    })
  })

  test('a day that stops matching is reported once', () => {
    const different = { verdict: 'likely', days_equal: 59 } as const
    expect(change(different, 'by creation')).toEqual({
      behaviour: null,
      notice: expect.stringContaining('no longer is "by creation": 1 of the last 60 final days differ'),
    })
    expect(change(different, 'by creation', false).notice).toBeNull()
  })

  test('what was never proven changes nothing', () => {
    expect(change({ verdict: 'likely' }, null)).toEqual({ behaviour: null, notice: null })
  })
})
