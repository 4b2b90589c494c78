import { describe, expect, test } from 'vitest'
import {
  compareDigests,
  createDayDigests,
  type DayDigest,
  dayOf,
  hasChanges,
  type StreamDigest,
} from '../../../src/export/core/day-digests.ts'

const stream = (...days: DayDigest[]): StreamDigest => ({
  stream: 'messages',
  digest: '',
  days,
  rows: days.reduce((sum, { rows }) => sum + rows, 0),
})
const day = (rows: number, digest: string, date: string | null = '2026-01-31') => ({
  day: date,
  rows,
  digest,
})

describe('a day', () => {
  test.for([
    ['is the same', day(3, 'a'), day(3, 'a'), 'same'],
    ['has more rows', day(3, 'a'), day(4, 'b'), 'more'],
    ['has fewer rows', day(3, 'a'), day(2, 'b'), 'fewer'],
    ['has as many rows, and others', day(3, 'a'), day(3, 'b'), 'changed'],
  ] as const)('%s', ([, before, now, state]) => {
    const changes = compareDigests([stream(before)], [stream(now)])
    expect(changes).toMatchObject([
      { counts: { same: 0, more: 0, fewer: 0, changed: 0, [state]: 1 } },
    ])
    expect(changes[0]?.days.map((change) => change.state)).toEqual(state === 'same' ? [] : [state])
    expect(hasChanges(changes)).toBe(state !== 'same')
  })

  test('that is new has more rows, one that is empty now has fewer, and rows of no day come last', () => {
    const before = stream(day(1, 'a', '2026-01-02'), day(1, 'b', null))
    const now = stream(day(1, 'c', '2026-01-03'), day(2, 'd', null))
    expect(compareDigests([before], [now])[0]?.days).toEqual([
      { stream: 'messages', day: '2026-01-02', state: 'fewer', before: 1, now: 0 },
      { stream: 'messages', day: '2026-01-03', state: 'more', before: 0, now: 1 },
      { stream: 'messages', day: null, state: 'more', before: 1, now: 2 },
    ])
  })
})

test('a stream that is no longer there has fewer rows on all of its days', () => {
  expect(compareDigests([stream(day(3, 'a'))], [])).toMatchObject([
    { before: 3, now: 0, counts: { fewer: 1 } },
  ])
})

describe('the day of a row', () => {
  test.for([
    ['2026-01-31T23:59:59Z', '2026-01-31'],
    ['2099-12-31T00:00:00Z', '2099-12-31'],
    ['1999-12-31T23:59:59Z', null],
    ['9999-12-31T23:59:59Z', null],
    [null, null],
  ] as const)('%s is of %s', ([time, expected]) => {
    expect(dayOf(time)).toBe(expected)
  })
})

test('a digest is the SHA-256 of one line for each row, as sha256sum prints it', () => {
  const digests = createDayDigests()
  digests.add('2026-01-31', ['c-1', 17n], '{"content":"hello","id":17}')
  // printf '["c-1","17"] {"content":"hello","id":17}\n' | sha256sum
  expect(digests.finish('messages').days).toEqual([
    {
      day: '2026-01-31',
      rows: 1,
      digest: '0a0bb291856dda44ea6850b8f8cacf74429335259924bb8a60972a2a970f31f7',
    },
  ])
})
