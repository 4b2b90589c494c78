/** Visits: runs of activity of a visitor. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ActivityEntry, deriveVisits } from '../../../src/analytics/core/visits.ts'
import { at, calendar, clockOf } from './conversations-on-a-day.ts'

const halfAnHour = 1800

/** `9:05 v1 /prices`; without a page the entry names none. */
function visitsOf(lines: readonly string[], gapSeconds = halfAnHour) {
  const entries = lines.map((line): ActivityEntry => {
    const [clock = '', visitorId = '', page = null] = line.split(' ')
    return { visitorId, at: at(clock), page }
  })
  return deriveVisits(entries, gapSeconds, calendar).map(
    (visit) =>
      `${visit.visitor_id} ${visit.visit_number}: ${clockOf(visit.started_at)}–${clockOf(visit.ended_at)}, ${visit.entries} entries`,
  )
}

test('a pause longer than the gap begins another visit', () => {
  expect(visitsOf(['9:00 v1', '9:30 v1', '10:01 v1'])).toEqual([
    'v1 1: 09:00–09:30, 2 entries',
    'v1 2: 10:01–10:01, 1 entries',
  ])
  expect(visitsOf(['9:00 v1', '9:30 v1', '10:01 v1'], 3600)).toEqual([
    'v1 1: 09:00–10:01, 3 entries',
  ])
  expect(visitsOf([])).toEqual([])
})

test('each visitor has visits of their own, whatever the order of the entries', () => {
  expect(visitsOf(['9:40 v1', '9:00 v2', '9:20 v1', '9:00 v1'])).toEqual([
    'v1 1: 09:00–09:40, 3 entries',
    'v2 1: 09:00–09:00, 1 entries',
  ])
})

test('a visit has a local date, a length, and the first and last page that an entry names', () => {
  const entry = (clock: string, page: string | null): ActivityEntry => ({
    visitorId: 'v1',
    at: at(clock),
    page,
  })
  const entries = [
    entry('9:00', null),
    entry('9:01', '/prices'),
    entry('9:02', '/contact'),
    entry('9:03', null),
  ]
  expect(deriveVisits(entries, halfAnHour, calendar)).toEqual([
    {
      visitor_id: 'v1',
      visit_number: 1,
      started_at: at('9:00'),
      started_date: '2026-01-05',
      ended_at: at('9:03'),
      entries: 4,
      seconds: 180,
      first_page: '/prices',
      last_page: '/contact',
    },
  ])
  expect(deriveVisits([entry('9:00', null)], halfAnHour, calendar)[0]).toMatchObject({
    seconds: 0,
    first_page: null,
    last_page: null,
  })
})

test('entries are in exactly one visit, and visits are further apart than the gap', () => {
  const entries = fc.array(
    fc.nat(20_000).map((second) => ({ visitorId: 'v1', at: at('9:00') + second, page: null })),
  )
  const check = (given: readonly ActivityEntry[], gap: number) => {
    const visits = deriveVisits(given, gap, calendar)
    expect(visits.reduce((sum, visit) => sum + visit.entries, 0)).toBe(given.length)
    for (const [index, visit] of visits.entries()) {
      const before = visits[index - 1]
      if (before !== undefined) expect(visit.started_at - before.ended_at).toBeGreaterThan(gap)
    }
  }
  fc.assert(fc.property(entries, fc.nat(5000), check))
})
