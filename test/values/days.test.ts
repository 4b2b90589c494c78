/** The days of time zones: the windows of the rollups. */
import { expect, test } from 'vitest'
import { localDateOfDay, localDaysBetween } from '../../src/values/days.ts'

const at = (text: string) => Date.parse(text) / 1000
const lengths = (zone: string, first: string, last: string) =>
  localDaysBetween(at(first), at(last), zone).map(
    ({ date, from, to }) => `${date} ${(to - from) / 3600} h`,
  )

test('a day begins at the first second of its date, and has 23 to 25 hours if the clocks change', () => {
  const berlin = lengths('Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z')
  expect(berlin).toEqual(['2026-03-30 24 h', '2026-03-29 23 h', '2026-03-28 24 h'])
  expect(lengths('Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-25T12:00:00Z')).toEqual([
    '2026-10-25 25 h',
  ])
  expect(lengths('Australia/Lord_Howe', '2024-10-06T00:00:00Z', '2024-10-06T00:00:00Z')).toEqual([
    '2024-10-06 23.5 h',
  ])
  const [india] = localDaysBetween(
    at('2026-05-02T00:00:00Z'),
    at('2026-05-02T00:00:00Z'),
    'Asia/Kolkata',
  )
  expect(india).toEqual({
    date: '2026-05-02',
    from: at('2026-05-01T18:30:00Z'),
    to: at('2026-05-02T18:30:00Z'),
  })
})

test('if midnight is skipped or occurs twice, every second still belongs to exactly one day', () => {
  expect(lengths('America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04T12:00:00Z')).toEqual([
    '2018-11-04 23 h',
  ])
  const havana = lengths('America/Havana', '2025-11-01T12:00:00Z', '2025-11-02T12:00:00Z')
  expect(havana).toEqual(['2025-11-02 25 h', '2025-11-01 24 h'])
})

test('a date that a country skipped is not a day', () => {
  const apia = lengths('Pacific/Apia', '2011-12-29T12:00:00Z', '2012-01-01T00:00:00Z')
  expect(apia).toEqual(['2012-01-01 24 h', '2011-12-31 24 h', '2011-12-29 24 h'])
})

test('in every time zone each day begins where the previous one ends, whatever the first day', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    for (const [first, last] of [
      ['2011-12-29T05:00:00Z', '2011-12-31T22:00:00Z'],
      ['2026-11-01T05:00:00Z', '2026-11-01T22:00:00Z'],
    ] as const) {
      const days = localDaysBetween(at(first), at(last), zone)
      for (const [i, day] of days.entries()) {
        if (i > 0) expect(day.to, `${zone} ${day.date}`).toBe(days[i - 1]!.from)
        expect(localDateOfDay(day, zone)).toBe(day.date)
        expect(localDaysBetween(day.from, day.to - 1, zone), `${zone} ${day.date}`).toEqual([day])
      }
    }
  }
})

test('a window is a day of a zone only if it matches exactly', () => {
  const utc = { from: at('2026-01-05T00:00:00Z'), to: at('2026-01-06T00:00:00Z') }
  expect(localDateOfDay(utc, 'UTC')).toBe('2026-01-05')
  expect(localDateOfDay(utc, 'Europe/London')).toBe('2026-01-05')
  expect(localDateOfDay(utc, 'Asia/Tokyo')).toBeNull()
  const summer = { from: at('2026-03-29T00:00:00Z'), to: at('2026-03-30T00:00:00Z') }
  expect(localDateOfDay(summer, 'Europe/London')).toBeNull()
})
