/** How many past days a reconcile reads again. */
import { expect, test } from 'vitest'
import type { StoredRollup } from '../../../src/mirror/core/mirror.ts'
import { planRollups } from '../../../src/mirror/core/rollups.ts'
import { localDaysBetween } from '../../../src/values/days.ts'
import { daySeconds } from '../../../src/values/time.ts'

test('nightly reconciles read the last seven days each, and all of a long history within a week', () => {
  let now = Date.parse('2026-06-15T12:00:00Z') / 1000
  const from = now - 400 * daySeconds
  const readAt = new Map<number, number>()
  const nights = Array.from({ length: 8 }, () => {
    const days = localDaysBetween(from, now, 'UTC')
    const stored = days.flatMap((day): StoredRollup[] => {
      const at = readAt.get(day.from)
      return at === undefined ? [] : [{ ...day, timeZone: 'UTC', readAt: at }]
    })
    const { missing, unsettled, settled } = planRollups(days, stored, now, 'reconcile', () => false)
    const read = [...missing, ...unsettled, ...settled]
    for (const day of read) readAt.set(day.from, now)
    now += daySeconds
    return read.length
  })
  expect(nights[0]).toBe(401)
  for (const read of nights.slice(1)) expect(read).toBeLessThanOrEqual(3 + 7 + Math.ceil(407 / 7))
  expect(Math.min(...readAt.values())).toBeGreaterThan(now - 8 * daySeconds)
})
