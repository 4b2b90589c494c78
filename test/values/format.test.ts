/** Numbers and durations as people read them. */
import { expect, test } from 'vitest'
import { formatAge, formatDuration, formatSeconds } from '../../src/values/format.ts'

test('a duration has two units at most, and is rounded to the smaller one, not down', () => {
  const shown: readonly (readonly [number, string])[] = [
    ...([
      [0, '0 s'],
      [0.52, '0.5 s'],
      [59.94, '59.9 s'],
      [59.96, '1 min'],
    ] as const),
    ...([
      [126, '2 min 6 s'],
      [3599.4, '59 min 59 s'],
      [3599.6, '1 h'],
    ] as const),
    ...([
      [6600, '1 h 50 min'],
      [7199, '2 h'],
      [85_000, '23 h 37 min'],
      [86_380, '1 d'],
    ] as const),
    ...([
      [187_300, '2 d 4 h'],
      [171_900, '2 d'],
    ] as const),
  ]
  for (const [seconds, text] of shown) expect(formatSeconds(seconds), String(seconds)).toBe(text)
})

test('what a machine took is shown in milliseconds below a second', () => {
  expect([0, 340.4, 999.7, 2000, 2140].map(formatDuration)).toEqual([
    '0 ms',
    '340 ms',
    '1 s',
    '2 s',
    '2.1 s',
  ])
})

test('an age has a word for less than a second, and for what has not been', () => {
  const at = '2026-11-29T12:00:00Z'
  const ages = [-5000, 400, 1000, 61_000].map((ms) => formatAge(at, Date.parse(at) + ms))
  expect(ages).toEqual(['just now', 'just now', '1 s ago', '1 min 1 s ago'])
  expect(formatAge(null, 0)).toBe('never')
})
