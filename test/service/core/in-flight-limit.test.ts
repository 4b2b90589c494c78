/** How many requests go side by side: fewer after repeated 429s, one more after a while. */
import { expect, test } from 'vitest'
import {
  countAnswer,
  type InFlightLimit,
  lowerLimit,
  noInFlightLimit,
  raiseLimit,
} from '../../../src/service/core/in-flight-limit.ts'

const minute = 60_000
const answers = (limit: InFlightLimit, n: number) =>
  Array.from({ length: n }).reduce<InFlightLimit>(countAnswer, limit)

test('one 429 lowers nothing, as it may be about how many were sent', () => {
  expect(lowerLimit(noInFlightLimit, 0, 6, minute).most).toBe(Number.POSITIVE_INFINITY)
})

test('a second one after few answers leaves one less than were in flight, however their answers are ordered', () => {
  const first = [3, 4, 5, 6].reduce(
    (limit, beside) => lowerLimit(limit, 0, beside, minute),
    noInFlightLimit,
  )
  const second = [5, 3, 6, 4].reduce(
    (limit, beside) => lowerLimit(limit, minute, beside, minute),
    answers(first, 3),
  )
  expect([first.most, second.most]).toEqual([Number.POSITIVE_INFINITY, 2])
})

test('after many answers, or with a single request in flight, it is about the rate', () => {
  const first = lowerLimit(noInFlightLimit, 0, 6, minute)
  expect(lowerLimit(answers(first, 100), 2 * minute, 6, minute).most).toBe(Number.POSITIVE_INFINITY)
  expect(lowerLimit(first, 2 * minute, 1, minute).most).toBe(Number.POSITIVE_INFINITY)
})

test('one more is tried after a while, later each time that it was wrong, and in the end there is no limit', () => {
  const lowered = lowerLimit(lowerLimit(noInFlightLimit, 0, 3, minute), minute, 3, minute)
  expect(raiseLimit(lowered, 2 * minute).most).toBe(2)
  const raised = raiseLimit(lowered, 3 * minute)
  expect(raised.most).toBe(3)
  const again = lowerLimit(answers(raised, 500), 3 * minute + 1, 3, minute)
  expect([again.most, again.holdMs]).toEqual([2, 2 * minute])
  let limit = again
  for (let now = 5 * minute; Number.isFinite(limit.most); now += minute)
    limit = raiseLimit(limit, now)
  expect(limit.most).toBe(Number.POSITIVE_INFINITY)
})
