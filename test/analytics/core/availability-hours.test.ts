/** Availability by hour, from snapshots. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AvailabilitySnapshot,
  deriveAvailabilityHours,
} from '../../../src/analytics/core/availability-hours.ts'
import { createCalendar } from '../../../src/analytics/core/calendar.ts'
import { at, calendar } from './conversations-on-a-day.ts'

const tenMinutes = 600

/** `9:05 2`: agents online; `9:05 ?` is unknown, `9:05 some` an unknown number of them. */
function snapshotsOf(lines: readonly string[]): AvailabilitySnapshot[] {
  return lines.map((line) => {
    const [clock = '', agents = ''] = line.split(' ')
    const agentsOnline = /\d/.test(agents) ? Number(agents) : null
    return { at: at(clock), available: agents === '?' ? null : agents !== '0', agentsOnline }
  })
}

/** Hour, snapshots, minutes observed, minutes available, agent minutes, fewest and most agents. */
const hoursOf = (lines: readonly string[], holdSeconds = tenMinutes) =>
  deriveAvailabilityHours(snapshotsOf(lines), holdSeconds, calendar).map((row) =>
    [
      ...[
        row.hour,
        row.snapshots,
        row.observed_seconds / 60,
        row.available_seconds / 60,
        row.agent_seconds / 60,
      ],
      ...[row.agents_min, row.agents_max],
    ].join(' '),
  )

describe('a snapshot holds until the next one', () => {
  const cases: Readonly<
    Record<string, readonly [lines: readonly string[], hours: readonly string[]]>
  > = {
    'no snapshot': [[], []],
    'the last one holds for no time': [['9:00 2'], ['9 1 0 0 0 2 2']],
    'two within an hour': [['9:00 2', '9:05 0'], ['9 2 5 5 10 0 2']],
    'nobody is online': [['9:00 0', '9:05 1'], ['9 2 5 0 0 0 1']],
    'but for ten minutes at most': [['9:00 2', '9:30 2', '9:32 2'], ['9 3 12 12 24 2 2']],
    'over the end of an hour': [
      ['9:55 2', '10:02 1', '10:03 1'],
      ['9 1 5 5 10 2 2', '10 2 3 3 5 1 2'],
    ],
    'unknown availability observes nothing': [['9:00 ?', '9:05 1', '9:06 1'], ['9 3 1 1 1 1 1']],
    'an unknown number of agents is not none': [
      ['9:00 some', '9:05 3', '9:06 3'],
      ['9 3 1 1 3 3 3'],
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [lines, hours]) =>
    expect(hoursOf(lines)).toEqual(hours),
  )

  test('or for as long as is configured, so that an hour may have no snapshot of its own', () => {
    expect(hoursOf(['9:30 1', '11:30 1'], 7200)).toEqual([
      '9 1 30 30 30 1 1',
      '10 0 60 60 60 1 1',
      '11 1 30 30 30 1 1',
    ])
  })
})

test('hours are local, and one that occurs twice is one row', () => {
  const berlin = createCalendar({ timeZone: 'Europe/Berlin', hours: null, holidays: {} })
  const taken = [
    '2026-10-25T00:10:00Z',
    '2026-10-25T00:11:00Z',
    '2026-10-25T01:10:00Z',
    '2026-10-25T01:12:00Z',
  ]
  const snapshots = taken.map((time) => ({
    at: Date.parse(time) / 1000,
    available: true,
    agentsOnline: 1,
  }))
  expect(deriveAvailabilityHours(snapshots, tenMinutes, berlin)).toMatchObject([
    { date: '2026-10-25', hour: 2, snapshots: 4, observed_seconds: 60 + 600 + 120 },
  ])
})

test('the hours add up to all that was observed', () => {
  const snapshot = fc.record({
    at: fc.integer({ min: at('0:00'), max: at('23:00') }),
    available: fc.option(fc.boolean()),
    agentsOnline: fc.option(fc.nat(5)),
  })
  const check = (given: AvailabilitySnapshot[], hold: number) => {
    const snapshots = given.toSorted((a, b) => a.at - b.at)
    const rows = deriveAvailabilityHours(snapshots, hold, calendar)
    const sum = (column: 'observed_seconds' | 'agent_seconds' | 'snapshots') =>
      rows.reduce((total, row) => total + row[column], 0)
    const held = snapshots.map((current, index) => {
      const next = snapshots[index + 1]
      const isKnown = current.available !== null && current.agentsOnline !== null
      return next === undefined || !isKnown ? 0 : Math.min(hold, next.at - current.at)
    })
    expect(sum('snapshots')).toBe(snapshots.length)
    expect(sum('observed_seconds')).toBe(held.reduce((a, b) => a + b, 0))
    const agentSeconds = held.map(
      (seconds, index) => seconds * (snapshots[index]?.agentsOnline ?? 0),
    )
    expect(sum('agent_seconds')).toBe(agentSeconds.reduce((a, b) => a + b, 0))
    for (const row of rows) {
      expect(row.available_seconds).toBeLessThanOrEqual(row.observed_seconds)
      expect(row.observed_seconds).toBeLessThanOrEqual(3600)
    }
  }
  const distinct = fc.uniqueArray(snapshot, { selector: (value) => value.at, maxLength: 30 })
  fc.assert(fc.property(distinct, fc.integer({ min: 1, max: 8000 }), check))
})
