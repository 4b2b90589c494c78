import { expect, test } from 'vitest'
import { createRepeatFilter } from '../../src/worker/job-failures.ts'

test('a message is new once a day, and not again with other numbers in it', () => {
  let clock = 0
  const isNew = createRepeatFilter(() => clock)
  expect([
    isNew('3 rows are dated ahead'),
    isNew('4 rows are dated ahead'),
    isNew('the order is another'),
  ]).toEqual([true, false, true])
  clock = 24 * 3_600_000
  expect(isNew('5 rows are dated ahead')).toBe(true)
})
