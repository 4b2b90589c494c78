/** Which copies of a row are one version, and when a version was true. */

import { describe, expect, test } from 'vitest'
import {
  isSameVersion,
  nextVersion,
  unchangedSince,
} from '../../../src/mirror/core/row-versions.ts'
import type { Json } from '../../../src/values/json.ts'

const same = (list: Parameters<typeof isSameVersion>[0], one: Json, other: Json) =>
  isSameVersion(list, JSON.stringify(one), JSON.stringify(other))

const [t1, t2] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00.5Z']

describe('a version', () => {
  test.each([
    [true, { a: 1, b: { c: 2 } }, { b: { c: 2 }, a: 1 }],
    [true, { lastSeenAt: t1 }, { lastSeenAt: t2 }],
    [true, { last_seen: t1 }, { last_seen: null }],
    [true, { updatedAt: t1 }, {}],
    [true, { stats: { lastActivityAt: t1 } }, { stats: { lastActivityAt: t2 } }],
    [true, { lastVisit: { at: t1, url: '/a' } }, { lastVisit: { at: t2, url: '/a' } }],
    [false, { lastVisit: { at: t1, url: '/a' } }, { lastVisit: { at: t2, url: '/b' } }],
    [false, { lastName: 'Bo' }, { lastName: 'Ann' }],
    [false, { renewsAt: t1 }, { renewsAt: t2 }],
    [false, { visits: 1, lastSeenAt: t1 }, { visits: 2, lastSeenAt: t2 }],
    [false, { plan: 'free' }, { plan: null }],
    [false, { plan: null }, {}],
    [false, { tags: ['a'] }, { tags: ['a', 'b'] }],
    [false, 'no row', { a: 1 }],
    [false, JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}')],
  ])('%s: %j and %j', (isSame, one, other) => expect(same('visitors', one, other)).toBe(isSame))

  test('of a conversation is not ended by a message, but by a handling', () => {
    const open = { lastMessageAt: t1, lastMessageSenderType: 'visitor', handledAt: null }
    const answered = { ...open, lastMessageAt: t2, lastMessageSenderType: 'agent' }
    expect(same('conversations', open, answered)).toBe(true)
    expect(same('conversations', open, { ...answered, handledAt: t2 })).toBe(false)
    expect(same('visitors', open, answered)).toBe(false)
  })

  test('that a person has broken is another one', () =>
    expect(isSameVersion('calls', '{"a":1', '{"a":1}')).toBe(false))

  test('of numbers that a double cannot hold is exact', () => {
    const id = (digits: string) => `{"id":${digits}}`
    expect(isSameVersion('calls', id('9007199254740993'), id('9007199254740993'))).toBe(true)
    expect(isSameVersion('calls', id('9007199254740993'), id('9007199254740992'))).toBe(false)
  })
})

const at = (second: number, ms = 0) => Date.UTC(2026, 0, 1, 0, 0, second, ms)
const time = (second: number) => new Date(at(second)).toISOString().replace('.000', '')
const seconds = (second: number) => at(second) / 1000

describe('its time', () => {
  const copy = (over: Readonly<Record<string, string | null>> = {}) => ({
    raw: '{"a":1}',
    synced_at: time(10),
    deleted_at: null,
    unchanged_since: null,
    ...over,
  })
  const next = (over: Parameters<typeof copy>[0], raw: string, requestedAt: number) => {
    const step = nextVersion('visitors', copy(over), raw, requestedAt)
    const { began, ended } = step
    const interval = ended && [ended.from, ended.to].map((one) => one - seconds(0))
    return [began - seconds(0), unchangedSince(step, requestedAt), interval]
  }

  test('is that of its first reading until that of the next one', () => {
    expect(next({}, '{"a":2}', at(50, 999))).toEqual([50, null, [10, 50]])
    expect(next({ unchanged_since: time(4) }, '{"a":2}', at(50))).toEqual([50, null, [4, 50]])
  })

  test('goes on while only times move', () => {
    expect(next({}, '{"a":1,"lastSeenAt":null}', at(50))).toEqual([10, time(10), null])
    const longer = { unchanged_since: time(4) }
    expect(next(longer, '{"a":1}', at(50))).toEqual([4, time(4), null])
  })

  test('ends with the deletion, also if the same row comes back', () => {
    expect(next({ deleted_at: time(30) }, '{"a":1}', at(50))).toEqual([50, null, [10, 30]])
    expect(next({ deleted_at: time(10) }, '{"a":2}', at(50))).toEqual([50, null, [10, 11]])
    expect(next({ deleted_at: time(90) }, '{"a":2}', at(50))).toEqual([50, null, [10, 50]])
  })

  test('of versions of one second follows the one before by a second', () => {
    expect(next({}, '{"a":2}', at(10, 500))).toEqual([11, time(11), [10, 11]])
    const second = { unchanged_since: time(11) }
    expect(next(second, '{"a":3}', at(10, 900))).toEqual([12, time(12), [11, 12]])
  })

  test('is none if a wrong clock had put it into the future', () => {
    const ahead = '2030-01-01T00:00:00Z'
    const [began, since, interval] = next({ synced_at: ahead }, '{"a":2}', at(50))
    expect([began, since]).toEqual([50, null])
    expect(interval).toEqual([Date.parse(ahead) / 1000 - seconds(0), 50])
  })
})
