/** What a bound includes, for a clock that is finer than the times shown. */
import { expect, test } from 'vitest'
import { lowerBound, upperBound } from '../../src/sandbox/paging.ts'

const rows = [9_400, 10_000, 10_600, 11_000]
const at = 10_000
const from = (inclusive: boolean, hidden: boolean, time = at) =>
  rows.filter((row) => row >= lowerBound({ at: time, inclusive }, hidden))
const before = (inclusive: boolean, hidden: boolean, time = at) =>
  rows.filter((row) => row < upperBound({ at: time, inclusive }, hidden))

test('rows truncated to their second: the bound means the whole second', () => {
  expect(from(true, false)).toEqual([10_000, 10_600, 11_000])
  expect(from(false, false)).toEqual([11_000])
  expect(before(true, false)).toEqual([9_400, 10_000, 10_600])
  expect(before(false, false)).toEqual([9_400])
})

test('rows with their hidden fraction: the bound means its first millisecond', () => {
  expect(from(true, true)).toEqual([10_000, 10_600, 11_000])
  expect(from(false, true)).toEqual([10_600, 11_000])
  expect(before(true, true)).toEqual([9_400, 10_000])
  expect(before(false, true)).toEqual([9_400])
})

test('a bound with a fraction lies between whole seconds', () => {
  expect(from(true, false, 10_500)).toEqual([11_000])
  expect(before(true, false, 10_500)).toEqual([9_400, 10_000, 10_600])
  expect(before(false, false, 10_500)).toEqual([9_400, 10_000, 10_600])
})
