/** Definitions that a service hides: each number is taken for what it is, and never proven to be another one. */
import { describe, expect, test } from 'vitest'
import { isEqualAsShown } from '../../../src/core/analytics/compare-rollup-day.ts'
import { learnDefinition, ownValue } from '../../../src/core/analytics/learn-rollup-definition.ts'
import { createRollupDays, likelyZones, rollupBorders } from '../../../src/core/analytics/rollup-days.ts'
import type { Candidate } from '../../../src/core/analytics/rollup-definitions.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { candidatesFor, createRollupWorld, measuresOf } from './rollup-world.ts'

const random = seededRandom(120)
const below = (limit: number) => Math.floor(random() * limit)

const world = createRollupWorld(random, 60, 2000)
const measures = measuresOf(world)
const candidatesOfLast = (count: number) =>
  candidatesFor(world, measures, createRollupDays(world.windows.slice(-count), rollupBorders(likelyZones)))

const zeroed = (candidate: Candidate) => Array.from(candidate.values.keys(), (index) => ownValue(candidate, index) ?? 0)

/** How many of 120 numbers are proven, likely or unknown; `wrong`: proven or likely to be something else. */
function learnHidden(candidates: readonly Candidate[], shareOff: number) {
  const verdicts = { proven: 0, likely: 0, unknown: 0, wrong: [] as string[] }
  for (let n = 0; n < 120; n++) {
    const hidden = candidates[below(candidates.length)]!
    const shown = zeroed(hidden).map((value) => Math.round(value) + (random() < shareOff ? 1 + below(3) : 0))
    const { verdict, best, days } = learnDefinition(shown, candidates)
    verdicts[verdict]++
    // Definitions that would show the same on each of the days that were compared are one answer.
    const compared = best === null ? [] : zeroed(best).slice(-days)
    const isRight = zeroed(hidden)
      .slice(-days)
      .every((value, day) => isEqualAsShown(Math.round(value), compared[day] ?? null))
    if (verdict !== 'unknown' && !isRight) verdicts.wrong.push(`${hidden.name} was taken for ${best?.name}`)
  }
  return verdicts
}

describe('of 120 hidden definitions none is taken for another one', () => {
  const cases: readonly (readonly [days: number, shareOff: number, proven: number])[] = [
    [60, 0, 90],
    [14, 0, 60],
    [7, 0, 0],
    [60, 0.1, 0],
  ]
  test.each(cases)(
    '%i days, %d of them off by some',
    (count, shareOff, proven) => {
      const { wrong, ...verdicts } = learnHidden(candidatesOfLast(count), shareOff)
      expect(wrong).toEqual([])
      expect(verdicts.proven).toBeGreaterThanOrEqual(proven)
    },
    60_000,
  )
})
