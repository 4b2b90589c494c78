import { expect, test } from 'vitest'
import { createRepeatFilter } from '../../../src/app/worker/repeat-filter.ts'

test('a sentence is news once a day, and not again with other numbers in it', () => {
  let clock = 0
  const isNews = createRepeatFilter(() => clock)
  const said = (sentence: string) => isNews(sentence)
  expect([said('3 rows are dated ahead'), said('4 rows are dated ahead'), said('the order is another')]).toEqual([
    true,
    false,
    true,
  ])
  clock = 24 * 3_600_000
  expect(said('5 rows are dated ahead')).toBe(true)
})
