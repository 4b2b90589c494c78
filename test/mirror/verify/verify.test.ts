import { expect, test } from 'vitest'
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import { runVerify } from '../../../src/mirror/verify/verify.ts'
import { runVerifySample } from '../../../src/mirror/verify/verify-mirror.ts'
import { ApiError } from '../../../src/service/core/api-failure.ts'
import { rfc3339 } from '../../../src/values/time.ts'
import { keepAll } from '../../support/stored-items.ts'

const days = { timeZone: 'UTC', present: 0, now: () => 0 }
const lists = {
  readBehaviours: async () => new Map(),
  findWrongColumns: async () => ({ last: null, wrong: [] }),
  readStreamStatuses: async (streams: readonly StreamName[]) =>
    new Map(streams.map((name) => [name, 'complete'] as const)),
  earliestTime: async () => null,
  findErasedRows: async () => new Set<never>(),
}

test('a stream whose scope the key lacks is skipped, even if the message does not name the scope', async () => {
  const denied = {
    kind: 'denied',
    status: 403,
    code: 'api_key_scope_missing',
    scope: null,
  } as const
  const report = await runVerify({
    ...days,
    projectId: 'p',
    streams: new Set(streamNames),
    startDate: null,
    get: keepAll(async (path) => {
      if (path.endsWith('/calls'))
        throw new ApiError({ ...denied, why: 'missing permission', requestId: null })
      const data = { items: [], hasMore: false }
      return {
        data,
        status: 200,
        requestId: null,
        serverDate: null,
        cursorLimit: 0,
        requestedAt: 0,
      }
    }),
    mirror: { ...lists, readRows: async () => [], readRawById: async () => new Map() },
    limit: 10,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  expect(report.streams.find(({ stream }) => stream === 'calls')).toMatchObject({
    skipped: 'calls:read',
  })
  expect(report.streams.find(({ stream }) => stream === 'visitors')).toMatchObject({
    skipped: null,
  })
})

test('a message is not called gone if the service did not list all of them, and the report says why', async () => {
  const message = (id: number) => ({
    id,
    conversationId: 'c',
    createdAt: rfc3339(1_767_225_600 + id),
  })
  const listed = Array.from({ length: 200 }, (_, n) => message(n + 1))
  const report = await runVerify({
    ...days,
    projectId: 'p',
    streams: new Set(['messages']),
    startDate: null,
    // A full page that says that there is more, whatever it is asked for.
    get: keepAll(async () => ({
      data: { items: listed, hasMore: true },
      status: 200,
      requestId: null,
      serverDate: null,
      cursorLimit: 0,
      requestedAt: 0,
    })),
    mirror: {
      ...lists,
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
    {
      stream: 'messages',
      compared: 200,
      differing: 0,
      skipped: null,
      incomplete: expect.stringMatching(/more rows/),
    },
  ])
})

const page = (items: readonly unknown[]) => ({
  data: { items, hasMore: false } as never,
  status: 200,
  requestId: null,
  serverDate: null,
  cursorLimit: 0,
  requestedAt: 0,
})

test('a row that is not readable is not silently left out of the comparison', async () => {
  const stored = { conversations: '{"id":"c"}', messages: '{"id":1,"conversationId":"c"}' }
  const report = await runVerify({
    ...days,
    projectId: 'p',
    streams: new Set(['conversations', 'messages']),
    startDate: null,
    get: keepAll(async (path) =>
      page(path.endsWith('/messages') ? [{ content: 'no id' }] : [{ id: 'c' }, { visitorId: 'v' }]),
    ),
    mirror: {
      ...lists,
      readRows: async (stream, after) => {
        if (after !== null) return []
        return stream === 'messages'
          ? [{ key: ['c', '1'], raw: stored.messages }]
          : [{ key: ['c'], raw: stored.conversations }]
      },
      readRawById: async () => new Map([['c', stored.conversations]]),
    },
    limit: 10,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  expect(report.differences).toEqual([])
  expect(report.streams).toMatchObject([
    {
      stream: 'conversations',
      compared: 1,
      differing: 0,
      incomplete: expect.stringContaining('it has no key'),
    },
    {
      stream: 'messages',
      compared: 0,
      differing: 0,
      incomplete: expect.stringContaining('it has no key'),
    },
  ])
})

const sample = (
  answers: (path: string) => unknown,
  stored: Map<string, string>,
  statuses: Map<StreamName, 'complete'> = new Map([
    ['conversations', 'complete'],
    ['messages', 'complete'],
  ]),
) =>
  runVerifySample({
    projectId: 'p',
    streams: new Set(['conversations', 'messages']),
    startDate: null,
    get: keepAll(async (path) => ({ ...page([]), data: answers(path) as never })),
    mirror: {
      readRows: async () => [],
      readRawById: async () => stored,
      readBehaviours: async () => new Map(),
      readStreamStatuses: async () => statuses,
      findWrongColumns: async () => ({ last: null, wrong: [] }),
    },
    store: { listIds: async (_stream, after) => (after === null ? ['c'] : []) },
    sampleSize: 5,
    random: () => 0,
    now: () => 0,
    limit: 10,
    onProgress: () => {},
    signal: new AbortController().signal,
  })

test('a sample calls nothing gone that the service has in another form, or that a sync has marked meanwhile', async () => {
  const here = new Map([['c', '{"id":"c"}']])
  for (const answer of [{}, { id: 'c', projectId: 'another' }, { id: 'another' }]) {
    const { differences, streams } = await sample(() => answer, here)
    expect(differences).toEqual([])
    expect(streams).toMatchObject([
      { compared: 0, incomplete: expect.stringContaining('is not a row') },
    ])
  }
  const meanwhile = await sample(() => page([]).data, new Map())
  expect(meanwhile.differences).toEqual([])
})

test('a sample says that not all messages could be read', async () => {
  const answers = (path: string) =>
    path.endsWith('/messages') ? page([{ content: 'no id' }]).data : { id: 'c' }
  const report = await sample(answers, new Map([['c', '{"id":"c"}']]))
  expect(report.streams).toMatchObject([
    { stream: 'conversations', compared: 1, differing: 0 },
    { stream: 'messages', compared: 0, incomplete: expect.stringContaining('it has no key') },
  ])
})

test('a sample says which streams no sync has read to their end, as rows that are missing here are not drawn', async () => {
  const answers = (path: string) => (path.endsWith('/messages') ? page([]).data : { id: 'c' })
  const report = await sample(
    answers,
    new Map([['c', '{"id":"c"}']]),
    new Map([['conversations', 'complete']]),
  )
  expect(report.streams).toMatchObject([
    { stream: 'conversations', compared: 1 },
    { stream: 'messages', incomplete: expect.stringContaining('no sync has read it') },
  ])
  expect(report.streams[0]).not.toHaveProperty('incomplete')
})
