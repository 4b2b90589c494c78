/** Which days a report is about, and with which it is compared. */
import { expect, test } from 'vitest'
import {
  chooseReportPeriod,
  datesOf,
  parseDate,
} from '../../../src/analytics/core/report-period.ts'
import { UserError } from '../../../src/values/user-error.ts'

const wednesday = '2026-11-18'

const periods = [
  ['without dates it is the last week that is over', {}, wednesday, '2026-11-09', '2026-11-15'],
  ['on a Monday the week that ended yesterday', {}, '2026-11-16', '2026-11-09', '2026-11-15'],
  ['on a Sunday not the week that is about to end', {}, '2026-11-15', '2026-11-02', '2026-11-08'],
  ['at the turn of the year', {}, '2027-01-01', '2026-12-21', '2026-12-27'],
  ['from a day on it is seven days', { from: '2026-02-26' }, wednesday, '2026-02-26', '2026-03-04'],
  ['up to a day it is seven days', { to: '2026-03-04' }, wednesday, '2026-02-26', '2026-03-04'],
  ['a single day', { from: '2026-03-01', to: '2026-03-01' }, wednesday, '2026-03-01', '2026-03-01'],
  ['a leap year', { from: '2024-01-01', to: '2024-12-31' }, wednesday, '2024-01-01', '2024-12-31'],
] as const

for (const [title, dates, today, from, to] of periods) {
  test(`the period of a report: ${title}`, () => {
    expect(chooseReportPeriod(dates, today)).toMatchObject({ from, to })
  })
}

test('the last seven days are those that are over and read to their end', () => {
  const chosen = (wholeUntil: string) => chooseReportPeriod('last 7 days', wednesday, wholeUntil)
  for (const [until, from, to] of [
    [wednesday, '2026-11-11', '2026-11-17'],
    ['2026-11-16', '2026-11-09', '2026-11-15'],
  ] as const)
    expect(chosen(until)).toMatchObject({ from, to, whole: { from, to } })
  expect(chosen('').whole).toBeNull()
})

test('a period is compared with as many days just before it', () => {
  expect(chooseReportPeriod({}, wednesday).before).toEqual({ from: '2026-11-02', to: '2026-11-08' })
  expect(chooseReportPeriod({ from: '2026-03-01', to: '2026-03-31' }, wednesday).before).toEqual({
    from: '2026-01-29',
    to: '2026-02-28',
  })
})

test('days that are not over, or not read to their end, are compared with nothing, and the others with the same ones', () => {
  const week = { from: '2026-11-16', to: '2026-11-22' }
  expect(chooseReportPeriod({}, wednesday)).toMatchObject({
    whole: { from: '2026-11-09', to: '2026-11-15' },
  })
  expect(chooseReportPeriod(week, wednesday)).toMatchObject({
    ...week,
    whole: { from: '2026-11-16', to: '2026-11-17' },
    before: { from: '2026-11-09', to: '2026-11-10' },
  })
  expect(chooseReportPeriod(week, wednesday, '2026-11-17').whole).toEqual({
    from: '2026-11-16',
    to: '2026-11-16',
  })
  for (const wholeUntil of ['2026-11-16', '2026-11-01', ''])
    expect(chooseReportPeriod(week, wednesday, wholeUntil)).toMatchObject({
      whole: null,
      before: { from: '2026-11-09', to: '2026-11-15' },
    })
})

const invalid = [
  [{ from: '2026-03-02', to: '2026-03-01' }, '2026-03-02 is after 2026-03-01'],
  [{ from: '2025-01-01', to: '2026-01-02' }, '367 days are more than the 366 that fit on one page'],
] as const

for (const [dates, why] of invalid) {
  test(`a period is rejected: ${why}`, () => {
    expect(() => chooseReportPeriod(dates, wednesday)).toThrow(UserError)
    expect(() => chooseReportPeriod(dates, wednesday)).toThrow(why)
  })
}

test('the days of a period are consecutive, whatever the clocks do', () => {
  expect(datesOf({ from: '2026-03-28', to: '2026-03-30' })).toEqual([
    '2026-03-28',
    '2026-03-29',
    '2026-03-30',
  ])
})

test('only dates that exist are dates', () => {
  expect(parseDate('2024-02-29')).toBe('2024-02-29')
  for (const text of [
    '2026-02-29',
    '2026-13-01',
    '2026-1-1',
    'yesterday',
    '',
    "2026-01-01' or 1",
    '9999999-01-01',
  ])
    expect(parseDate(text), text).toBeUndefined()
})
