import { describe, expect, test } from 'vitest'
import { conversations } from '../../../src/mirror/core/streams.ts'
import { pathSegment } from '../../../src/service/core/path-segment.ts'

describe('an id becomes a path segment', () => {
  test.for([
    ['7D1F4F6E-5A2B-4C3D-8E9F-0A1B2C3D4E5F', '7D1F4F6E-5A2B-4C3D-8E9F-0A1B2C3D4E5F'],
    ['Call_17', 'Call_17'],
    ['a b&c', 'a%20b%26c'],
    ['v1.2..3', 'v1.2..3'],
  ] as const)('%s', ([id, written]) => {
    expect(pathSegment(id)).toBe(written)
  })
})

describe('an id that would change the path is refused', () => {
  test.for([
    '',
    '.',
    '..',
    '...',
    '../x',
    'a/b',
    'a\\b',
    '%2e%2e',
    'a?b',
    'a#b',
    'a\nb',
    'a\0b',
    '\ud800',
    'x'.repeat(5000),
  ])('%j', (id) => {
    expect(() => conversations.rowPath('p', id)).toThrow(
      expect.objectContaining({ name: 'ApiError' }),
    )
  })
})
