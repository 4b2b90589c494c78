/** What changed against the period before, as numbers and in words. */
import { expect, test } from 'vitest'
import {
  type Change,
  changeOf,
  formatChange,
  formatValue,
  type Unit,
} from '../../../src/analytics/report/change.ts'

const changes: readonly {
  readonly unit: Unit
  readonly value: number | null
  readonly before: number | null
  readonly change: number | null
  readonly percent: number | null
  readonly comparison: Change['comparison']
  readonly words: string
}[] = [
  {
    unit: 'count',
    value: 15,
    before: 12,
    change: 3,
    percent: 25,
    comparison: 'up',
    words: '+3 (+25 %)',
  },
  {
    unit: 'count',
    value: 9,
    before: 12,
    change: -3,
    percent: -25,
    comparison: 'down',
    words: '−3 (−25 %)',
  },
  {
    unit: 'seconds',
    value: 55,
    before: 60,
    change: -5,
    percent: -100 / 12,
    comparison: 'down',
    words: '−5 s (−8.3 %)',
  },
  {
    unit: 'seconds',
    value: 125,
    before: 5,
    change: 120,
    percent: 2400,
    comparison: 'up',
    words: '+2 min (+2,400 %)',
  },
  {
    unit: 'share',
    value: 0.75,
    before: 0.5,
    change: 0.25,
    percent: 50,
    comparison: 'up',
    words: '+25 points',
  },
  {
    unit: 'share',
    value: 0.75,
    before: 0.7499,
    change: expect.closeTo(0.0001),
    percent: 0.0133,
    comparison: 'up',
    words: 'hardly changed',
  },
  {
    unit: 'count',
    value: 7,
    before: 7,
    change: 0,
    percent: 0,
    comparison: 'unchanged',
    words: 'unchanged',
  },
  {
    unit: 'count',
    value: 0,
    before: 0,
    change: 0,
    percent: 0,
    comparison: 'unchanged',
    words: 'unchanged',
  },
  {
    unit: 'count',
    value: 4,
    before: 0,
    change: 4,
    percent: null,
    comparison: 'from none',
    words: '+4 (none before)',
  },
  {
    unit: 'seconds',
    value: null,
    before: 3,
    change: null,
    percent: null,
    comparison: 'nothing now',
    words: 'nothing now',
  },
  {
    unit: 'seconds',
    value: 3,
    before: null,
    change: null,
    percent: null,
    comparison: 'nothing before',
    words: 'nothing before',
  },
  {
    unit: 'share',
    value: null,
    before: null,
    change: null,
    percent: null,
    comparison: 'nothing to compare',
    words: 'nothing to compare',
  },
]

for (const { unit, value, before, change, percent, comparison, words } of changes) {
  test(`${unit}: ${value} after ${before} is: ${words}`, () => {
    const found: Change = changeOf(value, before)
    const changePercent = percent === null ? null : expect.closeTo(percent)
    expect(found).toEqual({ value, before, change, changePercent, comparison })
    expect(formatChange(found, unit)).toBe(words)
  })
}

test('growth that may be that of the mirror is not shown as growth', () => {
  const found = changeOf(43, 18, false)
  expect(found).toEqual({
    value: 43,
    before: 18,
    change: null,
    changePercent: null,
    comparison: 'before not whole',
  })
  expect(formatChange(found, 'count')).toBe('not compared: days are incomplete')
})

test('values are shown in their unit', () => {
  expect(formatValue(null, 'count')).toBe('–')
  expect(formatValue(12_345, 'count')).toBe('12,345')
  expect(formatValue(0, 'seconds')).toBe('0 s')
  expect(formatValue(7.5, 'seconds')).toBe('7.5 s')
  expect(formatValue(5400, 'seconds')).toBe('1 h 30 min')
  expect(formatValue(2 / 3, 'share')).toBe('66.7 %')
})
