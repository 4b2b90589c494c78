/**
 * A project's calendar: local dates and hours, business time, and the rows that show it to
 * analysts.
 */
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { describe, expect, test } from 'vitest'
import {
  type CalendarSettings,
  calendarRange,
  calendarRows,
  createCalendar,
} from '../../../src/analytics/core/calendar.ts'
import type { WeeklyHours } from '../../../src/config/business-hours.ts'
import type { Weekday } from '../../../src/values/time.ts'
import { sampledCount } from '../../support/sampled.ts'

const at = (text: string) => Date.parse(text) / 1000
const utc = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '')
const hours = (opens: number, closes: number) => ({ opens: opens * 60, closes: closes * 60 })
const daily = (...stretches: ReturnType<typeof hours>[]): WeeklyHours => ({
  1: stretches,
  2: stretches,
  3: stretches,
  4: stretches,
  5: stretches,
  6: stretches,
  7: stretches,
})
const workdays: WeeklyHours = {
  1: [hours(9, 17)],
  2: [hours(9, 17)],
  3: [hours(9, 17)],
  4: [hours(9, 17)],
  5: [hours(9, 12), hours(13, 17)],
}
const berlin: CalendarSettings = { timeZone: 'Europe/Berlin', hours: workdays, holidays: {} }
const zones = [
  ...[
    'UTC',
    'Europe/Berlin',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Asia/Kolkata',
    'America/Sao_Paulo',
  ],
  ...['America/Havana', 'Africa/Casablanca', 'America/St_Johns', 'Asia/Kathmandu'],
]

describe('local date and hour', () => {
  const clock = (timeZone: string, time: string) => {
    const { dateOf, hourOf } = createCalendar({ timeZone, hours: null, holidays: {} })
    return `${dateOf(at(time))} ${hourOf(at(time))}`
  }

  test.each([
    ['UTC', '2026-01-01T00:00:00Z', '2026-01-01 0'],
    ['Europe/Berlin', '2026-03-29T00:59:59Z', '2026-03-29 1'],
    ['Europe/Berlin', '2026-03-29T01:00:00Z', '2026-03-29 3'],
    ['Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25 2'],
    ['Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25 2'],
    ['Asia/Kolkata', '2026-05-01T18:29:59Z', '2026-05-01 23'],
    ['Asia/Kolkata', '2026-05-01T18:30:00Z', '2026-05-02 0'],
    ['Australia/Lord_Howe', '2024-10-05T15:29:59Z', '2024-10-06 1'],
    ['Australia/Lord_Howe', '2024-10-05T15:30:00Z', '2024-10-06 2'],
    ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29 23'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31 0'],
  ])('%s at %s is %s', (timeZone, time, expected) => expect(clock(timeZone, time)).toBe(expected))

  test.each([
    ['1970-01-01T00:00:00Z', '1970-01-01 1'],
    ['1969-12-31T22:59:59Z', '1969-12-31 23'],
    ['1800-06-01T00:00:00Z', '1800-06-01 0'],
    ['9999-12-31T22:59:59Z', '9999-12-31 23'],
    ['0001-01-01T00:00:00Z', '0001-01-01 0'],
    // The next day has a date that no database stores.
    ['9999-12-31T23:30:00Z', '9999-12-31 0'],
  ])('times of any year have one: %s in Berlin is %s', (time, expected) => {
    expect(clock('Europe/Berlin', time)).toBe(expected)
  })

  test('they are those of luxon, in every zone and year', () => {
    const names = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const times = fc.integer({ min: at('1970-01-01T00:00:00Z'), max: at('2060-01-01T00:00:00Z') })
    const check = (timeZone: string, seconds: number) => {
      const local = DateTime.fromSeconds(seconds, { zone: timeZone })
      expect(clock(timeZone, utc(seconds))).toBe(`${local.toFormat('yyyy-MM-dd')} ${local.hour}`)
    }
    fc.assert(fc.property(names, times, check), { numRuns: 300 })
  })

  test('the end of the hour is where the local hour changes, or its clock', () => {
    const hourEnd = (timeZone: string, time: string) =>
      utc(createCalendar({ timeZone, hours: null, holidays: {} }).hourEnd(at(time)))
    expect(hourEnd('UTC', '2026-01-01T10:20:00Z')).toBe('2026-01-01T11:00:00Z')
    expect(hourEnd('Asia/Kolkata', '2026-01-01T10:20:00Z')).toBe('2026-01-01T10:30:00Z')
    expect(hourEnd('Australia/Lord_Howe', '2024-10-05T15:10:00Z')).toBe('2024-10-05T15:30:00Z')
  })
})

describe('business time', () => {
  const businessHours = (settings: CalendarSettings, from: string, to: string) =>
    createCalendar(settings).businessSeconds(at(from), at(to)) / 3600

  test.each([
    ['within a day', '2026-01-05T09:00:00Z', '2026-01-05T10:30:00Z', 1.5],
    [
      'from before the opening until after the closing',
      '2026-01-05T00:00:00Z',
      '2026-01-05T23:00:00Z',
      8,
    ],
    ['over the lunch break of a Friday', '2026-01-09T10:00:00Z', '2026-01-09T13:00:00Z', 2],
    ['over a weekend', '2026-01-09T15:00:00Z', '2026-01-12T09:00:00Z', 2],
    ['while business is closed', '2026-01-10T09:00:00Z', '2026-01-11T15:00:00Z', 0],
    ['backwards', '2026-01-05T10:30:00Z', '2026-01-05T09:00:00Z', -1.5],
    ['of no time', '2026-01-05T09:00:00Z', '2026-01-05T09:00:00Z', 0],
  ])('%s', (_, from, to, expected) => expect(businessHours(berlin, from, to)).toBe(expected))

  test('a holiday has hours of its own, or none', () => {
    const holidays = {
      '2026-01-06': [],
      '2026-01-07': [hours(10, 11)],
      '2026-01-10': [hours(9, 12)],
    }
    const ofDay = (day: string) =>
      businessHours({ ...berlin, holidays }, `2026-01-${day}T00:00:00Z`, `2026-01-${day}T23:00:00Z`)
    expect(['05', '06', '07', '10', '11'].map(ofDay)).toEqual([8, 0, 1, 3, 0])
  })

  test('without hours it is calendar time, except on holidays, and in any year', () => {
    const always = { ...berlin, hours: null }
    expect(businessHours(always, '1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z')).toBe(
      (at('9999-01-01T00:00:00Z') - at('1970-01-01T00:00:00Z')) / 3600,
    )
    const christmas = { ...always, holidays: { '2025-12-25': [] } }
    expect(businessHours(christmas, '2025-12-24T12:00:00Z', '2025-12-26T12:00:00Z')).toBe(24)
  })

  test('open is every minute whose local clock shows a time within the hours', () => {
    const oneToFour = { ...berlin, hours: daily(hours(1, 4)) }
    const ofDay = (settings: CalendarSettings, day: string) =>
      businessHours(settings, `${day}T00:00:00+01:00`, `${day}T12:00:00+01:00`)
    expect(ofDay(oneToFour, '2026-03-28')).toBe(3)
    expect(ofDay(oneToFour, '2026-03-29'), 'two o’clock does not occur').toBe(2)
    expect(ofDay(oneToFour, '2026-10-25'), 'two o’clock occurs twice').toBe(4)
    const untilHalfPastTwo = { ...berlin, hours: daily({ opens: 60, closes: 150 }) }
    expect(ofDay(untilHalfPastTwo, '2026-10-25'), 'closed in between').toBe(2)
  })

  test('before 2000 and from 2100 on business is closed: no time of the service lies there', () => {
    expect(businessHours(berlin, '1970-01-01T00:00:00Z', '2000-01-01T00:00:00Z')).toBe(0)
    expect(businessHours(berlin, '2100-01-01T00:00:00Z', '9999-01-01T00:00:00Z')).toBe(0)
    expect(businessHours(berlin, '1990-01-01T00:00:00Z', '9999-01-01T00:00:00Z')).toBeGreaterThan(
      39 * 52 * 100,
    )
  })
})

describe('whatever the zone and the hours', () => {
  const minute = fc.integer({ min: 0, max: 1440 })
  const stretch = fc
    .tuple(minute, minute)
    .map(([a, b]) => ({ opens: Math.min(a, b), closes: Math.max(a, b) }))
  const weekly = fc.dictionary(
    fc.constantFrom('1', '2', '3', '4', '5', '6', '7'),
    fc.tuple(stretch),
  ) as fc.Arbitrary<WeeklyHours>
  const holidays = fc.dictionary(
    fc.constantFrom('2026-03-29', '2026-10-25', '2026-03-30'),
    fc.tuple(stretch),
  )
  const settings = fc.record({ timeZone: fc.constantFrom(...zones), hours: weekly, holidays })
  // Around the nights on which the clocks change.
  const nights = ['2011-12-30', '2018-11-04', '2024-10-05', '2026-03-29', '2026-10-25'].map((day) =>
    at(`${day}T00:00:00Z`),
  )
  const instant = fc
    .tuple(fc.constantFrom(...nights), fc.integer({ min: -200_000, max: 200_000 }))
    .map(([a, b]) => a + b)

  test('time only adds business time', () => {
    const check = (calendar: CalendarSettings, from: number, length: number) => {
      const seconds = createCalendar(calendar).businessSeconds(from, from + length)
      expect(seconds).toBeGreaterThanOrEqual(0)
      expect(seconds).toBeLessThanOrEqual(length)
    }
    fc.assert(fc.property(settings, instant, fc.nat(500_000), check), {
      numRuns: sampledCount(40, 100),
    })
  })

  test('the business time of two parts is that of the whole', () => {
    const check = (calendar: CalendarSettings, a: number, b: number, c: number) => {
      const { businessSeconds } = createCalendar(calendar)
      expect(businessSeconds(a, b) + businessSeconds(b, c)).toBe(businessSeconds(a, c))
    }
    fc.assert(fc.property(settings, instant, instant, instant, check), {
      numRuns: sampledCount(40, 100),
    })
  })

  test('from 0:00 to 24:00 is calendar time', () => {
    const check = (timeZone: string, from: number, to: number) => {
      const calendar = createCalendar({ timeZone, hours: daily(hours(0, 24)), holidays: {} })
      expect(calendar.businessSeconds(from, to)).toBe(to - from)
    }
    fc.assert(fc.property(fc.constantFrom(...zones), instant, instant, check), {
      numRuns: sampledCount(40, 100),
    })
  })

  test('it is what asking the clock every minute finds', () => {
    const check = (calendar: CalendarSettings, from: number, length: number) => {
      const start = Math.floor(from / 60) * 60
      let open = 0
      for (let time = start; time < start + length * 60; time += 60)
        if (isOpenByLuxon(calendar, time)) open += 60
      expect(createCalendar(calendar).businessSeconds(start, start + length * 60)).toBe(open)
    }
    fc.assert(fc.property(settings, instant, fc.nat(2000), check), { numRuns: 40 })
  })

  test('each second is in exactly one hour', () => {
    const check = (timeZone: string, from: number) => {
      const { dateOf, hourOf, hourEnd } = createCalendar({ timeZone, hours: null, holidays: {} })
      const end = hourEnd(from)
      expect(end - from).toBeGreaterThan(0)
      expect(`${dateOf(end - 1)} ${hourOf(end - 1)}`).toBe(`${dateOf(from)} ${hourOf(from)}`)
    }
    fc.assert(fc.property(fc.constantFrom(...zones), instant, check))
  })
})

function isOpenByLuxon(
  { timeZone, hours: weekly, holidays }: CalendarSettings,
  time: number,
): boolean {
  const local = DateTime.fromSeconds(time, { zone: timeZone })
  const minute = local.hour * 60 + local.minute
  const stretches =
    holidays[local.toFormat('yyyy-MM-dd')] ?? weekly?.[local.weekday as Weekday] ?? []
  return stretches.some(({ opens, closes }) => minute >= opens && minute < closes)
}

describe('the rows of the calendar', () => {
  const rowsOf = (settings: CalendarSettings, from: string, to: string) =>
    calendarRows(settings, { from: at(from), to: at(to) })

  test('an offset holds until the next one', () => {
    const { zone_offsets } = rowsOf(berlin, '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z')
    expect(zone_offsets.map(({ from_s, offset_s }) => [utc(from_s), offset_s])).toEqual([
      ['2026-01-01T00:00:00Z', 3600],
      ['2026-03-29T01:00:00Z', 7200],
      ['2026-10-25T01:00:00Z', 3600],
    ])
  })

  test('spans count the open seconds before them, since 2000; spans that touch are one', () => {
    const { business_spans } = rowsOf(berlin, '2000-01-01T00:00:00Z', '2000-01-07T12:00:00Z')
    expect(
      business_spans.map((span) => [
        utc(span.opens_s),
        utc(span.closes_s),
        span.seconds_before / 3600,
      ]),
    ).toEqual([
      ['2000-01-03T08:00:00Z', '2000-01-03T16:00:00Z', 0],
      ['2000-01-04T08:00:00Z', '2000-01-04T16:00:00Z', 8],
      ['2000-01-05T08:00:00Z', '2000-01-05T16:00:00Z', 16],
      ['2000-01-06T08:00:00Z', '2000-01-06T16:00:00Z', 24],
      ['2000-01-07T08:00:00Z', '2000-01-07T11:00:00Z', 32],
    ])
    const nights = rowsOf(
      { ...berlin, hours: daily(hours(0, 2), hours(22, 24)) },
      '2026-01-01T10:00:00Z',
      '2026-01-02T12:00:00Z',
    )
    expect(
      nights.business_spans.map(({ opens_s, closes_s }) => (closes_s - opens_s) / 3600),
    ).toEqual([4])
    const always = rowsOf(
      { ...berlin, hours: null },
      '2000-01-01T00:00:00Z',
      '2030-01-01T00:00:00Z',
    ).business_spans
    expect(always).toEqual([
      {
        opens_s: at('2000-01-01T00:00:00Z'),
        closes_s: at('2030-01-01T00:00:00Z'),
        seconds_before: 0,
      },
    ])
  })

  test('a date knows its week, month, quarter and hours', () => {
    const settings = { ...berlin, holidays: { '2027-01-01': [] } }
    const { dim_date } = rowsOf(settings, '2026-12-31T12:00:00Z', '2027-01-02T12:00:00Z')
    const newYear = {
      week: '2026-12-28',
      month: '2027-01-01',
      quarter: '2027-01-01',
      year: 2027,
      iso_week: '2026-W53',
    }
    expect(dim_date).toEqual([
      expect.objectContaining({
        date: '2026-12-31',
        weekday: 4,
        year: 2026,
        is_holiday: false,
        business_seconds: 8 * 3600,
      }),
      {
        date: '2027-01-01',
        starts_at: at('2026-12-31T23:00:00Z'),
        ends_at: at('2027-01-01T23:00:00Z'),
        weekday: 5,
        ...newYear,
        is_weekend: false,
        is_holiday: true,
        business_seconds: 0,
      },
      expect.objectContaining({
        date: '2027-01-02',
        weekday: 6,
        is_weekend: true,
        business_seconds: 0,
        ...newYear,
      }),
    ])
  })

  test('a date that a country skipped is none, and days have 23 to 25 hours when the clocks change', () => {
    const lengths = (timeZone: string, from: string, to: string) =>
      rowsOf({ ...berlin, timeZone }, from, to).dim_date.map(
        ({ date, starts_at, ends_at }) => `${date} ${(ends_at - starts_at) / 3600} h`,
      )
    expect(lengths('Pacific/Apia', '2011-12-29T12:00:00Z', '2011-12-31T12:00:00Z')).toEqual([
      '2011-12-29 24 h',
      '2011-12-31 24 h',
      '2012-01-01 24 h',
    ])
    expect(lengths('Europe/Berlin', '2026-03-29T12:00:00Z', '2026-03-29T13:00:00Z')).toEqual([
      '2026-03-29 23 h',
    ])
    expect(lengths('Australia/Lord_Howe', '2024-10-06T00:00:00Z', '2024-10-06T01:00:00Z')).toEqual([
      '2024-10-06 23.5 h',
    ])
    expect(lengths('America/Havana', '2025-11-02T12:00:00Z', '2025-11-02T13:00:00Z')).toEqual([
      '2025-11-02 25 h',
    ])
    expect(lengths('America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04T13:00:00Z')).toEqual([
      '2018-11-04 23 h',
    ])
  })

  test('in every zone each date begins where the one before ends', () => {
    for (const timeZone of zones) {
      const { dim_date } = rowsOf(
        { ...berlin, timeZone },
        '2011-01-01T00:00:00Z',
        '2012-01-01T00:00:00Z',
      )
      const starts = dim_date.map(({ starts_at }) => starts_at)
      expect(dim_date.slice(0, -1).map(({ ends_at }) => ends_at)).toEqual(starts.slice(1))
    }
  })

  test('weeks and quarters are those of luxon', () => {
    for (const row of rowsOf(berlin, '2008-01-01T00:00:00Z', '2014-01-01T00:00:00Z').dim_date) {
      const date = DateTime.fromISO(row.date, { zone: 'UTC' })
      const luxon = [
        date.weekday,
        date.startOf('week').toISODate(),
        date.startOf('quarter').toISODate(),
      ]
      expect([row.weekday, row.week, row.quarter, row.iso_week]).toEqual([
        ...luxon,
        date.toFormat("kkkk-'W'WW"),
      ])
    }
  })

  test('the business seconds of the dates add up to those of the whole time', () => {
    const { dim_date } = rowsOf(berlin, '2025-12-31T23:00:00Z', '2026-12-31T23:00:00Z')
    const whole = createCalendar(berlin).businessSeconds(
      at('2025-12-31T23:00:00Z'),
      at('2026-12-31T23:00:00Z'),
    )
    expect(dim_date.reduce((sum, row) => sum + row.business_seconds, 0)).toBe(whole)
  })

  test('they reach from 2000 to the end of the year after next', () => {
    const { from, to } = calendarRange(at('2026-11-22T00:00:00Z'))
    expect([utc(from), utc(to)]).toEqual(['2000-01-01T00:00:00Z', '2029-01-01T00:00:00Z'])
  })

  test('both ways to business time agree: the spans, and the function', () => {
    const { business_spans } = rowsOf(berlin, '2000-01-01T00:00:00Z', '2028-01-01T00:00:00Z')
    const openSecondsUntil = (time: number) => {
      const span = business_spans.findLast(({ opens_s }) => opens_s <= time)
      return span === undefined
        ? 0
        : span.seconds_before + Math.min(time, span.closes_s) - span.opens_s
    }
    const { businessSeconds } = createCalendar(berlin)
    const time = fc.integer({ min: at('2000-01-01T00:00:00Z'), max: at('2027-12-01T00:00:00Z') })
    const check = (from: number, to: number) => {
      expect(openSecondsUntil(to) - openSecondsUntil(from)).toBe(businessSeconds(from, to))
    }
    fc.assert(fc.property(time, time, check))
  })
})
