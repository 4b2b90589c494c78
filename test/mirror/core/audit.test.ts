/** What audits show together, and which differences count. */
import { describe, expect, test } from 'vitest'
import {
  type AuditResult,
  confirmedDifferences,
  createSample,
  describeEvidence,
  estimateDifferences,
  type SeenDifference,
} from '../../../src/mirror/core/audit.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const now = Date.parse('2026-06-30T12:00:00Z')

function audit(finishedAt: string, over: Partial<AuditResult> = {}): AuditResult {
  return {
    id: finishedAt,
    stream: 'conversations',
    startedAt: finishedAt,
    finishedAt,
    population: 1_203_442,
    drawn: 500,
    compared: 500,
    differing: 0,
    corrected: 0,
    gone: 0,
    unreadable: 0,
    requests: 1000,
    tookMs: 60_000,
    ...over,
  }
}

const nights = (count: number, over: Partial<AuditResult> = {}) =>
  Array.from({ length: count }, (_, n) =>
    audit(new Date(now - (count - n) * 86_400_000).toISOString(), over),
  )

describe('the audits of a month', () => {
  test('are counted together', () => {
    const [estimate] = estimateDifferences(nights(20), now)
    expect(estimate).toMatchObject({ audits: 20, sampled: 10_000, differing: 0, isExact: false })
    expect(estimate?.words).toBe('with 95 % confidence fewer than 3 in 10,000 conversations differ')
    expect(describeEvidence(estimate!)).toBe(
      'none of 10,000 read again in 20 audits differed; 1,203,442 are mirrored',
    )
  })

  test('keep counting a difference that was corrected, although later nights found none', () => {
    const found = audit('2026-06-02T01:00:00Z', { differing: 2 })
    const [estimate] = estimateDifferences([found, ...nights(19)], now)
    expect(estimate?.words).toBe('with 95 % confidence fewer than 7 in 10,000 conversations differ')
    expect(describeEvidence(estimate!)).toContain(
      '2 of 10,000 read again in 20 audits differed; what differed was corrected',
    )
  })

  test('without those that ended more than 30 days ago', () => {
    const old = audit('2026-05-31T11:00:00Z', { differing: 9 })
    expect(estimateDifferences([old, ...nights(1)], now)).toMatchObject([
      { audits: 1, differing: 0 },
    ])
    expect(estimateDifferences([old], now)).toEqual([])
  })

  test('are counted by stream', () => {
    const visitors = nights(2, { stream: 'visitors', compared: 10 })
    expect(estimateDifferences([...visitors, ...nights(2)], now)).toMatchObject([
      { stream: 'conversations', sampled: 1000 },
      {
        stream: 'visitors',
        sampled: 20,
        words: 'with 95 % confidence fewer than 14 in 100 visitors differ',
      },
    ])
  })

  test('say nothing if nothing could be read, and count rows that could not be read as nothing', () => {
    expect(estimateDifferences(nights(1, { compared: 0, unreadable: 500 }), now)).toEqual([])
    expect(estimateDifferences(nights(1, { compared: 499, unreadable: 1 }), now)).toMatchObject([
      { sampled: 499 },
    ])
  })

  test('of which the last compared every row: the share is known, and only that one counts', () => {
    const whole = audit('2026-06-30T01:00:00Z', {
      population: 12,
      drawn: 12,
      compared: 12,
      differing: 1,
    })
    const [estimate] = estimateDifferences([...nights(3), whole], now)
    expect(estimate).toMatchObject({ isExact: true, sampled: 12, upperLimit: 1 / 12 })
    expect(estimate?.words).toBe('1 of the 12 conversations differed from the service')
    expect(describeEvidence(estimate!)).toBe(
      'all were read again; what differed was corrected as far as the service still shows it',
    )
  })
})

describe('a difference counts', () => {
  const difference = (storedHash: string | null, key = 'c/1'): SeenDifference => ({
    stream: 'messages',
    key,
    kind: storedHash === null ? 'missing here' : 'different',
    fields: [],
    storedHash,
  })

  test.for([
    ['if the same row is stored before and after the sync', difference('a'), difference('a'), 1],
    ['if the row is missing before and after the sync', difference(null), difference(null), 1],
    [
      'not if the sync has stored another row, which differs again',
      difference('a'),
      difference('b'),
      0,
    ],
    ['not if it came only after the first comparison', difference('a', 'c/2'), difference('a'), 0],
  ] as const)('%s', ([, before, after, counted]) => {
    expect(confirmedDifferences([before], [after])).toHaveLength(counted)
  })
})

describe('a sample', () => {
  const draw = (size: number, population: number, seed: number) => {
    const sample = createSample(size, seededRandom(seed))
    for (let n = 0; n < population; n++) sample.add(String(n))
    expect(sample.population()).toBe(population)
    return sample.draw()
  }

  test('has each row once, and all of them if there are no more', () => {
    expect(new Set(draw(10, 1000, 1)).size).toBe(10)
    expect(draw(10, 7, 1).toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6'])
  })

  test('has every row equally often, and equally often at its beginning', () => {
    const [drawn, first] = [new Array<number>(20).fill(0), new Array<number>(20).fill(0)]
    for (let seed = 0; seed < 20_000; seed++) {
      const rows = draw(5, 20, seed).map(Number)
      for (const row of rows) drawn[row]! += 1
      first[rows[0]!]! += 1
    }
    // Five standard deviations.
    for (const count of drawn) expect(Math.abs(count - 5000)).toBeLessThan(5 * 61.3)
    for (const count of first) expect(Math.abs(count - 1000)).toBeLessThan(5 * 30.9)
  })
})
