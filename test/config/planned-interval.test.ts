/** How often the schedules read a stream. */
import { describe, expect, test } from 'vitest'
import type { StreamName } from '../../schema/stream-specs.ts'
import { plannedReading } from '../../src/config/planned-interval.ts'
import { defaultSchedules, type Schedules } from '../../src/config/schedules.ts'

describe('a stream is to be read at least every', () => {
  const hours = (stream: StreamName, schedules: Partial<Schedules> = {}) => {
    const reading = plannedReading({ ...defaultSchedules, ...schedules }, stream)
    return reading && reading.intervalMs / 3_600_000
  }
  const cron = (pattern: string) => ({ kind: 'cron', pattern }) as const
  const off = { kind: 'off' } as const

  test('five minutes, children included, and a night for rollups', () => {
    expect([hours('conversations'), hours('messages'), hours('analytics')]).toEqual([
      1 / 12,
      1 / 12,
      24,
    ])
  })

  test.each([
    ['30 2 * * *', 24],
    ['*/10 8-17 * * *', 14 + 10 / 60],
    ['0 3 * * mon-fri', 72],
    ['0 */6 * * *', 6],
  ])('its longest pause: %s', (pattern, expected) => {
    expect(hours('visitors', { incremental: cron(pattern), reconcile: off })).toBeCloseTo(expected)
  })

  test('what its most frequent schedule says, and never if all are off', () => {
    expect(hours('calls', { incremental: off })).toBe(24)
    expect(hours('calls', { incremental: cron('0 * * * *') })).toBe(1)
    expect(hours('calls', { incremental: off, reconcile: off })).toBeNull()
    expect(hours('availability', { availability: off })).toBeNull()
  })
})
