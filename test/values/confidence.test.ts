/** The arithmetic of audits. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toFrequency, upperLimit } from '../../src/mirror/core/audit.ts'

describe('the upper limit of a share at 95 %', () => {
  // One-sided limits of Clopper and Pearson, computed apart from this code: the sum of the terms by
  // their gamma functions.
  test.for([
    [0, 1, 0.95],
    [0, 10, 0.2588655509],
    [0, 100, 0.0295130496],
    [0, 10_000, 2.9952836e-4],
    [0, 1_000_000, 2.99572779e-6],
    [1, 10, 0.3941633024],
    [1, 100, 0.0465598115],
    [2, 100, 0.0616192004],
    [5, 100, 0.1022533776],
    [50, 100, 0.5863782854],
    [99, 100, 0.9994871986],
    [3, 10_000, 7.75181379e-4],
    [10_000, 1_000_000, 0.010165214],
  ])('%i of %i: %d', ([differing, sampled, limit]) => {
    expect(upperLimit({ sampled: sampled!, differing: differing! }) / limit!).toBeCloseTo(1, 6)
  })

  test('of nothing, or of a sample in which everything differs, is everything', () => {
    expect(upperLimit({ sampled: 0, differing: 0 })).toBe(1)
    expect(upperLimit({ sampled: 7, differing: 7 })).toBe(1)
  })

  test('follows the rule of three if nothing differs', () => {
    for (const sampled of [100, 1000, 100_000]) {
      const limit = upperLimit({ sampled, differing: 0 })
      expect(limit).toBeLessThan(3 / sampled)
      expect(limit).toBeGreaterThan(2.9 / sampled)
    }
  })

  test('is exceeded by the true share in at most 5 % of all samples, whatever that share is', () => {
    const world = fc.record({
      sampled: fc.integer({ min: 1, max: 80 }),
      share: fc.double({ min: 1e-6, max: 0.999, noNaN: true }),
    })
    fc.assert(
      fc.property(world, ({ sampled, share }) => {
        expect(probabilityOfMissing(sampled, share)).toBeLessThanOrEqual(0.05 + 1e-9)
      }),
      { numRuns: 100 },
    )
  })

  test('holds for samples without repetition from few rows', () => {
    const world = fc
      .tuple(fc.integer({ min: 1, max: 50 }), fc.nat(), fc.nat())
      .map(([rows, n, k]) => ({ rows, sampled: 1 + (n % rows), wrong: k % (rows + 1) }))
    fc.assert(
      fc.property(world, ({ rows, sampled, wrong }) => {
        const missed = withoutRepetition(rows, wrong, sampled).reduce(
          (sum, probability, differing) =>
            upperLimit({ sampled, differing }) < wrong / rows ? sum + probability : sum,
          0,
        )
        expect(missed).toBeLessThanOrEqual(0.05 + 1e-9)
      }),
      { numRuns: 200 },
    )
  })

  test('holds on average over nights with different shares, if their samples are counted together', () => {
    const nights = fc.array(fc.double({ min: 0, max: 0.9, noNaN: true }), {
      minLength: 2,
      maxLength: 6,
    })
    fc.assert(
      fc.property(nights, fc.integer({ min: 1, max: 12 }), (shares, perNight) => {
        const average = shares.reduce((sum, share) => sum + share, 0) / shares.length
        const counts = distributionOf(
          shares.flatMap((share) => Array.from({ length: perNight }, () => share)),
        )
        const sampled = shares.length * perNight
        const missed = counts.reduce(
          (sum, probability, differing) =>
            upperLimit({ sampled, differing }) < average ? sum + probability : sum,
          0,
        )
        expect(missed).toBeLessThanOrEqual(0.05 + 1e-9)
      }),
      { numRuns: 60 },
    )
  })
})

/** How likely a sample is whose limit is below the true share, summed over all samples. */
function probabilityOfMissing(sampled: number, share: number): number {
  let [probability, missed] = [Math.exp(sampled * Math.log1p(-share)), 0]
  for (let differing = 0; differing <= sampled; differing++) {
    if (upperLimit({ sampled, differing }) >= share) return missed
    missed += probability
    probability *= ((sampled - differing) / (differing + 1)) * (share / (1 - share))
  }
  return missed
}

/** The probability of each number of wrong rows in a sample, row by row. */
function withoutRepetition(rows: number, wrong: number, sampled: number): number[] {
  let counts = [1]
  for (let drawn = 0; drawn < sampled; drawn++) {
    const share = (found: number) => Math.max(0, wrong - found) / (rows - drawn)
    counts = counts
      .concat(0)
      .map((same, n) => same * (1 - share(n)) + (n === 0 ? 0 : (counts[n - 1] ?? 0) * share(n - 1)))
  }
  return counts
}

/** The probability of each number of cases, if each draw has a share of its own. */
function distributionOf(shares: readonly number[]): number[] {
  let counts = [1]
  for (const share of shares)
    counts = counts.concat(0).map((same, n) => same * (1 - share) + (counts[n - 1] ?? 0) * share)
  return counts
}

describe('a share in words is never too small', () => {
  test.for([
    [2.9952836e-4, 3, 10_000],
    [3e-4, 3, 10_000],
    [3.0001e-4, 4, 10_000],
    [1.9e-4, 19, 100_000],
    [2.0e-4, 2, 10_000],
    [0.0295, 3, 100],
    [0.26, 26, 100],
    [0.95, 95, 100],
    [1, 100, 100],
  ])('%d: fewer than %i in %i', ([share, cases, among]) => {
    expect(toFrequency(share!)).toEqual({ cases, among })
  })

  test('for any share', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1, noNaN: true }), (share) => {
        const { cases, among } = toFrequency(share)
        expect(cases / among).toBeGreaterThanOrEqual(share * (1 - 1e-12))
        expect(cases / among).toBeLessThanOrEqual(Math.max(share * 1.5, 0.01 + share))
      }),
    )
  })
})
