/** What a certificate says that it does not prove, and that its page shows foreign texts as texts. */
import { describe, expect, test } from 'vitest'
import type { Certificate, CertifiedStream } from '../../src/core/certificate.ts'
import type { StreamName } from '../../src/core/stream-specs.ts'
import { renderHtml } from '../../src/report/html/html.ts'
import { type LimitFacts, listLimits } from '../../src/verify/certificate-limits.ts'
import { certificatePage } from '../../src/verify/certificate-page.ts'

const certified = (stream: StreamName, over: Partial<CertifiedStream> = {}): CertifiedStream => ({
  ...{ stream, rows: 10, deleted: 0, digest: 'd', syncedAt: '2026-01-01T00:00:00Z', openGaps: 0, days: [] },
  ...over,
})
const comparison: Certificate['comparison'] = {
  ...{
    sample: null,
    from: '2026-01-02T00:00:00Z',
    to: '2026-01-02T01:00:00Z',
    requests: 9,
    differences: [],
    truncated: false,
  },
  streams: [{ stream: 'calls', compared: 10, differing: 0, notCompared: null, incomplete: null }],
}
const facts = (over: Partial<LimitFacts> = {}): LimitFacts => ({
  ...{ streams: [certified('calls')], comparison, gaps: [], startDate: null, incompleteConversations: 0 },
  countedAt: '2026-01-02T02:00:00Z',
  behaviours: new Map([['calls.order', 'ascending by startedAt']]),
  ...over,
})
const gap = {
  stream: 'calls',
  from: null,
  to: null,
  reason: '<script>alert(1)</script>',
  foundAt: '2026-01-01T00:00:00Z',
} as const
const limitsOf = (stream: StreamName | null, over: Partial<LimitFacts> = {}) =>
  listLimits(facts(over))
    .filter((limit) => limit.stream === stream)
    .map(({ what }) => what)

describe('a stream that was compared completely has no limit but', () => {
  test.for([
    ['none', {}, []],
    [
      'that it was not compared',
      { comparison: { ...comparison, streams: [] } },
      ['whether its rows are those of the service'],
    ],
    [
      'that it was never read to its end',
      { streams: [certified('calls', { syncedAt: null })] },
      ['that it is complete'],
    ],
    [
      'its deleted rows',
      { streams: [certified('calls', { deleted: 2 })] },
      ['whether deleted rows are as the service last had them'],
    ],
    ['its gaps', { gaps: [gap] }, ['that nothing is missing']],
    ['its gaps that are not listed', { streams: [certified('calls', { openGaps: 1 })] }, ['that nothing is missing']],
    ['the time before its start date', { startDate: '2025-01-01T00:00:00Z' }, ['anything before 2025-01-01T00:00:00Z']],
    ['an unknown order of its list', { behaviours: new Map() }, ['that its list showed every row']],
  ] as const)('%s', ([, over, expected]) => {
    expect(limitsOf('calls', over)).toEqual(expected)
  })
})

test('what the service never shows is not proven in any certificate', () => {
  const streams = [certified('visitors'), certified('messages'), certified('availability')]
  expect(limitsOf('visitors', { streams })).toContain('internal notes')
  expect(limitsOf('availability', { streams })).toContain('earlier snapshots')
  expect(limitsOf('messages', { streams, incompleteConversations: 3 })).toContain(
    'that all messages of 3 conversations are here',
  )
  expect(limitsOf(null)).toEqual([
    'one moment of the service',
    'that the rows that were counted are those that were compared',
    'rows that the service had deleted before they were first read',
    'columns and tables derived from the rows',
    'who wrote this file',
  ])
})

test('the page shows texts of the service as texts', () => {
  const page = renderHtml(
    certificatePage(
      {
        ...{ format: 'deskmirror-certificate', version: 1, software: 's', timeZone: 'UTC', startDate: null },
        ...{
          project: { id: 'p', name: 'a\u202eb' },
          service: 'https://service.example/v1',
          countedAt: '2026-01-02T00:00:00Z',
          digest: 'd',
          audits: [],
          limits: [],
        },
        ...{ comparison, streams: [certified('calls')], gaps: [gap], behaviours: [] },
      },
      { name: 'c.json', sha256: '123' },
    ),
  )
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(page).not.toContain('<script')
  expect(page).not.toContain('\u202e')
  expect(page).toContain('SHA-256 of c.json, which states the same as this page: 123')
  expect(page).toContain('default-src &#39;none&#39;')
})
