/** How many days of the rollups are compared. */
import { expect, test } from 'vitest'
import { daysToCompare } from '../../../src/core/analytics/days-to-compare.ts'

test.each([
  ['all of them in a small project', 60, 200_000, 60],
  ['fewer where there are many messages', 60, 400_000, 30],
  ['but enough to prove a definition', 60, 100_000_000, 21],
  ['and no more than there are', 9, 100_000_000, 9],
  ['none where none is final', 0, 0, 0],
])('%s', (_, days, messages, expected) => expect(daysToCompare(days, messages)).toBe(expected))
