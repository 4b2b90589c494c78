/** When rows are counted again, and which counts are shown without counting. */
import { expect, test } from 'vitest'
import { countToShow, isCountDue } from '../../src/mirror/sql/row-counts.ts'

const now = Date.UTC(2026, 5, 1)
const minute = 60_000
const known = (rows: number, ageMs: number) => ({ rows, countedAt: now - ageMs })

test.for([
  ['nothing changed', known(1000, 1e9), 0, false],
  ['nothing changed, and nothing was ever counted', null, 0, false],
  ['never counted', null, 1, true],
  ['few changes, counted less than an hour ago', known(1000, 59 * minute), 10, false],
  ['few changes, counted an hour ago', known(1000, 60 * minute), 10, true],
  ['more changes than one in a hundred, counted a minute ago', known(1000, minute), 11, true],
  ['more changes than one in a hundred, counted just now', known(1000, minute - 1), 1000, false],
  [
    'twenty million, few changes, counted nineteen hours ago',
    known(20e6, 19 * 60 * minute),
    10,
    false,
  ],
  [
    'twenty million, few changes, counted twenty hours ago',
    known(20e6, 20 * 60 * minute),
    10,
    true,
  ],
  [
    'twenty million, many changes, counted nineteen minutes ago',
    known(20e6, 19 * minute),
    1e6,
    false,
  ],
  ['twenty million, many changes, counted twenty minutes ago', known(20e6, 20 * minute), 1e6, true],
] as const)('%s', ([, count, changed, isDue]) => {
  expect(isCountDue(count, changed, now)).toBe(isDue)
})

test('only large counts are shown without counting again', () => {
  expect(countToShow(null)).toBeNull()
  expect(countToShow(known(49_999, 0))).toBeNull()
  expect(countToShow(known(50_000, 0))).toEqual(known(50_000, 0))
})
