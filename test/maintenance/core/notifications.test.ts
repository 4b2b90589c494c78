/** What is announced, given what was announced and what is so now. */
import { expect, test } from 'vitest'
import {
  type Announced,
  type Condition,
  levelOf,
  planNotifications,
  quietMs,
  weekCondition,
} from '../../../src/maintenance/core/notifications.ts'

const now = Date.parse('2026-11-18T12:00:00Z')
const gap = (level: number): Condition => ({ event: 'gap', subject: '', level, count: 1 })
const announced = (level: number, agoMs: number): Announced => ({
  event: 'gap',
  subject: '',
  level,
  announcedAt: now - agoMs,
})
const [news, changed, ended, nothing] = ['news', 'changed', 'ended', 'nothing'] as const

/** By what was announced, and how long ago; then by what is so now. */
test.each([
  [null, 0, nothing],
  [null, 1, news],
  [[2, 60_000], 2, nothing],
  [[2, quietMs], 2, nothing],
  // It grew: more is said of it once an hour, and it is not forgotten until then.
  [[2, 60_000], 3, nothing],
  [[2, quietMs], 3, news],
  [[2, 60_000], 1, changed],
  [[2, quietMs], 1, changed],
  // It is over: if it comes back within the hour, the hour passes first.
  [[2, 60_000], 0, changed],
  [[0, 60_000], 0, nothing],
  [[0, 60_000], 1, nothing],
  [[0, quietMs], 1, news],
  [[2, quietMs], 0, ended],
  // A clock that was set back makes nothing wait for it.
  [[2, -quietMs], 3, news],
] as const)('announced %j, now %j: %s', (before, level, expected) => {
  const plan = planNotifications(
    before === null ? [] : [announced(before[0], before[1])],
    level === 0 ? [] : [gap(level)],
    now,
  )
  const filled = [news, changed, ended].filter((name) => plan[name].length > 0)
  expect(filled).toEqual(expected === nothing ? [] : [expected])
  for (const row of plan.changed) expect(row).toMatchObject({ level })
})

test('one that takes the place of another is more to say, and one less is not', () => {
  expect(levelOf(1, 101)).toBeGreaterThan(levelOf(1, 100))
  expect(levelOf(2, 100)).toBeGreaterThan(levelOf(1, 100))
  expect(levelOf(1, 100)).toBeLessThan(levelOf(2, 100))
})

test('a week is announced from Monday at eight in the time zone of the project', () => {
  const mondayOf = (at: string, zone: string) =>
    new Date(weekCondition(Date.parse(at), zone).monday * 86_400_000).toISOString().slice(0, 10)
  expect(mondayOf('2026-11-16T06:59:59Z', 'Europe/Berlin')).toBe('2026-11-02')
  expect(mondayOf('2026-11-16T07:00:00Z', 'Europe/Berlin')).toBe('2026-11-09')
  expect(mondayOf('2026-11-16T15:59:59Z', 'America/Los_Angeles')).toBe('2026-11-02')
  expect(mondayOf('2026-11-22T23:00:00Z', 'UTC')).toBe('2026-11-09')
})

test('the first week of a project is the one that ends while it is watched', () => {
  const friday = Date.parse('2026-11-20T12:00:00Z')
  const week = (at: number) => weekCondition(at, 'UTC')
  const begun = planNotifications([], [week(friday)], friday)
  expect([begun.news, begun.changed]).toEqual([[], [expect.objectContaining({ announcedAt: 0 })]])
  const monday = Date.parse('2026-11-23T08:00:00Z')
  for (const [at, news] of [
    [monday - 1000, 0],
    [monday, 1],
    [monday + 86_400_000, 1],
  ] as const)
    expect(planNotifications(begun.changed, [week(at)], at).news).toHaveLength(news)
})
