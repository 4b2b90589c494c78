import { expect, test } from 'vitest'
import { ApiError } from '../../src/core/api-failure.ts'
import { streamNames } from '../../src/core/stream-specs.ts'
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
