import { expect, test } from 'vitest'
import { clockGainMs, nextReference } from '../../../src/service/core/close-budget.ts'

const reading = (store: number, from: number, to = from) => ({ store, from, to })

test.for([
  ['both clocks ran alike', reading(1000, 50), reading(31_000, 30_050), 0],
  ["the store's clock was set forward", reading(1000, 50), reading(31_500, 30_050), 500],
  ["the store's clock ran behind", reading(1000, 50), reading(30_500, 30_050), -500],
  [
    'the store was slow to answer, so it is less than it seems',
    reading(1000, 0, 200),
    reading(1700, 100, 600),
    100,
  ],
] as const)('%s', ([, reference, later, gain]) => {
  expect(clockGainMs(reference, later)).toBe(gain)
})

test('a reading is compared with one that is no older than a window', () => {
  const [first, soon, late] = [reading(0, 0), reading(60_000, 60_000), reading(60_001, 60_001)]
  expect(nextReference(first, soon, 60_000)).toBe(first)
  expect(nextReference(first, late, 60_000)).toBe(late)
})
