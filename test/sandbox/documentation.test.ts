/** The sandbox behaves as the service's documentation says, sentence by sentence. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scopes } from '../../src/sandbox/endpoints.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { firstRowPaths, type SandboxResponse, sendRequest } from './requests.ts'

let sandbox: Sandbox
let paths: Awaited<ReturnType<typeof firstRowPaths>>
beforeEach(async () => {
  const size = { conversations: 60, visitors: 30, calls: 30 }
  sandbox = await startSandbox({
    seed: 5,
    size,
    projects: [{ size }],
    switches: { 'rate.kind': 'off' },
  })
  paths = await firstRowPaths(sandbox)
})
afterEach(() => sandbox.stop())

const post = (path: string, body: unknown, key?: string) =>
  sendRequest(sandbox, path, { method: 'POST', body, ...(key === undefined ? {} : { key }) })
const patch = (body: unknown) => sendRequest(sandbox, paths.visitor, { method: 'PATCH', body })
const fieldsOf = (response: SandboxResponse) =>
  response.body.error.context.issues.map((issue: { path: string[] }) => issue.path[0])
const conversation = async () => (await sendRequest(sandbox, paths.conversation)).body.data

describe('authentication', () => {
  test('a key is accepted in either header, and x-api-key wins if both are present', async () => {
    const valid = sandbox.key
    expect((await sendRequest(sandbox, paths.conversation, { key: valid })).status).toBe(200)
    expect(
      (
        await sendRequest(sandbox, paths.conversation, {
          key: null,
          headers: { 'x-api-key': valid },
        })
      ).status,
    ).toBe(200)
    expect(
      (
        await sendRequest(sandbox, paths.conversation, {
          key: 'wrong',
          headers: { 'x-api-key': valid },
        })
      ).status,
    ).toBe(200)
    expect(
      (
        await sendRequest(sandbox, paths.conversation, {
          key: valid,
          headers: { 'x-api-key': 'wrong' },
        })
      ).status,
    ).toBe(401)
  })

  test('a key belongs to one project: paths of another are refused, rows of another do not exist', async () => {
    const other = sandbox.projectIds[1]!
    const elsewhere = await sendRequest(sandbox, `/public/projects/${other}/conversations`)
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([403, 'api_key_wrong_project'])
    const row = sandbox.truth('conversations', other).next().value!.id
    const hidden = await sendRequest(sandbox, `/public/conversations/${row}`)
    expect([hidden.status, hidden.body.error.code]).toEqual([404, 'NOT_FOUND'])
    expect(
      (await sendRequest(sandbox, `/public/conversations/${row}`, { key: 'svc_live_sandbox_2' }))
        .status,
    ).toBe(200)
  })

  test('a key without a scope is refused and the message names the scope; a write scope implies no read scope', async () => {
    const needed: Record<string, () => Promise<SandboxResponse>> = {
      'conversations:read': () =>
        sendRequest(sandbox, `${paths.conversation}/messages`, { key: 'most' }),
      'conversations:write': () => post(`${paths.conversation}/handled`, { handled: true }, 'most'),
      'visitors:read': () => sendRequest(sandbox, `${paths.visitor}/activity`, { key: 'most' }),
      'visitors:write': () => post(`${paths.visitor}/notes`, { content: 'x' }, 'most'),
      'calls:read': () => sendRequest(sandbox, `${paths.call}/recording`, { key: 'most' }),
      'analytics:read': () => sendRequest(sandbox, `${paths.base}/analytics`, { key: 'most' }),
      'availability:read': () =>
        sendRequest(sandbox, `${paths.base}/availability`, { key: 'most' }),
    }
    expect(Object.keys(needed)).toEqual(scopes)
    for (const [scope, request] of Object.entries(needed)) {
      sandbox.addKey({ key: 'most', scopes: scopes.filter((other) => other !== scope) })
      const { status, body } = await request()
      expect([status, body.error.code, body.error.message]).toEqual([
        403,
        'api_key_scope_missing',
        expect.stringContaining(scope),
      ])
    }
  })

  test('revoking disables a key at once', async () => {
    sandbox.revokeKey(sandbox.key)
    expect((await sendRequest(sandbox, paths.conversation)).body.error.code).toBe('api_key_invalid')
  })
})

describe('conversations', () => {
  test('the status is always open; only handledAt marks handled conversations, and `handled` filters on it', async () => {
    const list = async (query: string) =>
      (await sendRequest(sandbox, `${paths.base}/conversations?limit=200${query}`)).body.data.items
    const [all, done, open] = [
      await list(''),
      await list('&handled=true'),
      await list('&handled=false'),
    ]
    expect(all).toHaveLength(60)
    expect(new Set(all.map((row: { status: string }) => row.status))).toEqual(new Set(['open']))
    expect(done.every((row: { handledAt: unknown }) => row.handledAt !== null)).toBe(true)
    expect(open.every((row: { handledAt: unknown }) => row.handledAt === null)).toBe(true)
    expect(done.length + open.length).toBe(60)
    expect(Math.min(done.length, open.length)).toBeGreaterThan(0)
  })

  test('the last message’s time and sender match the messages, in all conversations', () => {
    const last = new Map<string, unknown[]>()
    for (const { parentId, row } of sandbox.truth('messages')) {
      const { createdAt, senderType } = row as Record<string, unknown>
      last.set(parentId!, [createdAt, senderType])
    }
    for (const { id, row } of sandbox.truth('conversations')) {
      const { lastMessageAt, lastMessageSenderType } = row as Record<string, unknown>
      expect([lastMessageAt, lastMessageSenderType]).toEqual(last.get(id!))
    }
  })

  test('handled = true sets handledAt, false clears it, and a reply reopens what was handled', async () => {
    await post(`${paths.conversation}/handled`, { handled: true })
    expect((await conversation()).handledAt).toBeTypeOf('string')
    await post(`${paths.conversation}/handled`, { handled: false })
    expect((await conversation()).handledAt).toBeNull()
    await post(`${paths.conversation}/handled`, { handled: true })
    await post(`${paths.conversation}/messages`, { content: 'Hello', senderName: 'Ann' })
    expect(await conversation()).toMatchObject({ handledAt: null, lastMessageSenderType: 'agent' })
    const messages = (await sendRequest(sandbox, `${paths.conversation}/messages?limit=200`)).body
      .data.items
    expect(messages.at(-1)).toMatchObject({
      content: 'Hello',
      senderDisplayName: 'Ann',
      senderType: 'agent',
      kind: 'utterance',
    })
  })

  test('an invalid body changes nothing, and the response names the invalid fields', async () => {
    const before = await conversation()
    expect(fieldsOf(await post(`${paths.conversation}/messages`, {}))).toEqual([
      'content',
      'senderName',
    ])
    expect(fieldsOf(await post(`${paths.conversation}/messages`, { content: 'x' }))).toEqual([
      'senderName',
    ])
    expect(
      fieldsOf(await post(`${paths.conversation}/messages`, { content: 7, senderName: null })),
    ).toEqual(['content', 'senderName'])
    expect(fieldsOf(await post(`${paths.conversation}/handled`, { handled: 'true' }))).toEqual([
      'handled',
    ])
    expect(fieldsOf(await post(`${paths.conversation}/handled`, []))).toEqual(['body'])
    expect(await conversation()).toEqual(before)
    expect(sandbox.ledger()).toEqual([])
  })
})

describe('visitors and calls', () => {
  test('a correction needs both fields, null clears a value, and other fields stay', async () => {
    expect(fieldsOf(await patch({ name: 'Ann' }))).toEqual(['email'])
    expect(fieldsOf(await patch({ name: 3, email: 'a@b.c' }))).toEqual(['name'])
    const before = (await sendRequest(sandbox, paths.visitor)).body.data
    expect((await patch({ name: 'Ann', email: null })).status).toBe(200)
    const { updatedAt: _was, ...others } = before
    expect((await sendRequest(sandbox, paths.visitor)).body.data).toMatchObject({
      ...others,
      name: 'Ann',
      email: null,
    })
  })

  test.for(['content', 'note', 'text', 'body'] as const)(
    'a note’s text is in `%s` if the switch says so, and a 400 names that field',
    async (field) => {
      sandbox.setSwitches({ 'note.field': field })
      expect(fieldsOf(await post(`${paths.visitor}/notes`, { other: 'x' }))).toEqual([field])
      expect([...sandbox.truth('notes')]).toEqual([])
      expect((await post(`${paths.visitor}/notes`, { [field]: 'Likes tea' })).status).toBe(200)
      expect(
        [...sandbox.truth('notes')].map(({ row }) => (row as Record<string, unknown>)[field]),
      ).toEqual(['Likes tea'])
    },
  )

  test('a call without a recording has hasRecording false, or returns 404 if the switch says so', async () => {
    const { id } = sandbox.mutate.addCall()
    const recording = () => sendRequest(sandbox, `/public/calls/${id}/recording`)
    expect((await recording()).body.data.hasRecording).toBe(false)
    sandbox.setSwitches({ 'recordings.none': '404' })
    expect((await recording()).body.error.code).toBe('NOT_FOUND')
    sandbox.mutate.recordingAppears(id)
    expect((await recording()).body.data.hasRecording).toBe(true)
  })

  test('rows that do not exist return NOT_FOUND, as do deleted ones', async () => {
    const unknownId = '00000000-0000-4000-8000-000000000000'
    sandbox.mutate.deleteCall(paths.callId)
    const rowPaths = [
      `/public/conversations/${unknownId}`,
      `/public/conversations/${unknownId}/messages`,
      '/public/calls/x',
      paths.call,
    ]
    for (const path of [
      ...rowPaths,
      `${paths.base}/visitors/${unknownId}`,
      `${paths.base}/visitors/${unknownId}/activity`,
    ]) {
      const { status, body } = await sendRequest(sandbox, path)
      expect([path, status, body.error.code]).toEqual([path, 404, 'NOT_FOUND'])
    }
  })

  test('the rollup’s counts are those of the window, and the availability is that of the project', async () => {
    const window = 'from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z'
    const { data } = (await sendRequest(sandbox, `${paths.base}/analytics?${window}`)).body
    const calls = [...sandbox.truth('calls')].filter(({ row }) =>
      String((row as { startedAt: string }).startedAt).startsWith('2026-05-01'),
    )
    expect(data.calls.total).toBe(calls.length)
    expect((await sendRequest(sandbox, `${paths.base}/availability`)).body.data.projectId).toBe(
      sandbox.projectId,
    )
  })
})

describe('queries', () => {
  test('the page size is 50 by default, and `limit` may be 1 to 200', async () => {
    const sizeOf = async (limit: string) =>
      (await sendRequest(sandbox, `${paths.base}/conversations${limit}`)).body.data?.items.length
    expect(await sizeOf('')).toBe(50)
    expect(await sizeOf('?limit=1')).toBe(1)
    expect(await sizeOf('?limit=200')).toBe(60)
    for (const limit of ['0', '201', '-1', '1.5', 'ten', '']) {
      expect(
        fieldsOf(await sendRequest(sandbox, `${paths.base}/conversations?limit=${limit}`)),
        limit,
      ).toEqual(['limit'])
    }
  })

  test('timestamps must be RFC 3339, and every invalid parameter is named', async () => {
    for (const bad of [
      'yesterday',
      '2026-05-01',
      '1780000000',
      '2026-13-01T00:00:00Z',
      '2026-05-01T00:00:00',
    ]) {
      expect(
        fieldsOf(await sendRequest(sandbox, `${paths.base}/visitors?since=${bad}`)),
        bad,
      ).toEqual(['since'])
    }
    expect(fieldsOf(await sendRequest(sandbox, `${paths.base}/calls?from=x&to=y&limit=z`))).toEqual(
      ['from', 'to', 'limit'],
    )
    expect(fieldsOf(await sendRequest(sandbox, `${paths.base}/conversations?handled=yes`))).toEqual(
      ['handled'],
    )
    expect(fieldsOf(await sendRequest(sandbox, `${paths.visitor}/activity?before=x`))).toEqual([
      'before',
    ])
    expect(fieldsOf(await sendRequest(sandbox, `${paths.base}/analytics`))).toEqual(['from', 'to'])
    expect(
      (await sendRequest(sandbox, `${paths.base}/visitors?since=2026-05-01T02:00:00%2B02:00`))
        .status,
    ).toBe(200)
  })
})

test('the widget token needs only a bearer key, and expires after ttl seconds', async () => {
  const mint = (body: unknown, headers = {}, key: string | null = sandbox.key) =>
    sendRequest(sandbox, '/v1/widget/token', { method: 'POST', body, headers, key })
  const { data } = (await mint({ visitor: { email: 'a@b.c' }, metadata: { cart: 3 }, ttl: 90 }))
    .body
  expect(Date.parse(data.expiresAt) - Math.floor(sandbox.now() / 1000) * 1000).toBeLessThanOrEqual(
    90_000,
  )
  expect(data.token).not.toBe((await mint({ ttl: 90 })).body.data.token)
  expect((await mint({}, { 'x-api-key': sandbox.key }, null)).status).toBe(401)
  expect(fieldsOf(await mint({ ttl: '60' }))).toEqual(['ttl'])
  expect(fieldsOf(await mint({ visitor: { email: 4 } }))).toEqual(['email'])
})

test('with a prefix the API is only below it, and the widget token keeps its own version', async () => {
  const versioned = await startSandbox({ prefix: '/v1' })
  try {
    const path = `/public/projects/${versioned.projectId}/availability`
    expect((await sendRequest(versioned, path)).status).toBe(200)
    const root = { ...versioned, baseUrl: versioned.origin }
    expect((await sendRequest(root, path)).status).toBe(404)
    for (const base of [root, versioned]) {
      expect(
        (await sendRequest(base, '/v1/widget/token', { method: 'POST', body: {} })).status,
      ).toBe(200)
    }
  } finally {
    await versioned.stop()
  }
})
