import { expect, test } from 'vitest'
import { ApiError } from '../../src/core/api-failure.ts'
import { streamNames } from '../../src/core/stream-specs.ts'
import { rfc3339 } from '../../src/core/time.ts'
import { runVerify } from '../../src/verify/verify.ts'

test('a stream whose scope the key lacks is skipped, even if the message does not name the scope', async () => {
  const denied = { kind: 'denied', status: 403, code: 'api_key_scope_missing', scope: null } as const
  const report = await runVerify({
    projectId: 'p',
    streams: new Set(streamNames),
    startDate: null,
    get: async (path) => {
      if (path.endsWith('/calls')) throw new ApiError({ ...denied, why: 'missing permission', requestId: null })
      const data = { items: [], hasMore: false }
      return { data, status: 200, requestId: null, serverDate: null, cursorLimit: 0, requestedAt: 0 }
    },
    mirror: { readRows: async () => [], readRawById: async () => new Map() },
    limit: 10,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  expect(report.streams.find(({ stream }) => stream === 'calls')).toMatchObject({ skipped: 'calls:read' })
  expect(report.streams.find(({ stream }) => stream === 'visitors')).toMatchObject({ skipped: null })
})

test('a message is not called gone if the service did not list all of them, and the report says why', async () => {
  const message = (id: number) => ({ id, conversationId: 'c', createdAt: rfc3339(1_767_225_600 + id) })
  const listed = Array.from({ length: 200 }, (_, n) => message(n + 1))
  const report = await runVerify({
    projectId: 'p',
    streams: new Set(['messages']),
    startDate: null,
    // A full page that says that there is more, whatever it is asked for.
    get: async () => ({
      data: { items: listed, hasMore: true },
      ...{ status: 200, requestId: null, serverDate: null, cursorLimit: 0, requestedAt: 0 },
    }),
    mirror: {
      readRows: async (stream, after) => {
        if (after !== null) return []
        if (stream === 'conversations') return [{ key: ['c'], raw: '{"id":"c"}' }]
        const stored = [message(0), ...listed]
        return stored.map((row) => ({ key: ['c', String(row.id)], raw: JSON.stringify(row) }))
      },
      readRawById: async () => new Map(),
    },
    limit: 10,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  expect(report.differences).toEqual([])
  expect(report.streams).toEqual([
    { stream: 'messages', compared: 200, differing: 0, skipped: null, incomplete: expect.stringMatching(/more rows/) },
  ])
})
