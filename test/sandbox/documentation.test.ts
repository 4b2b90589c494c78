/** The sandbox does what the service's documentation says, sentence by sentence. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scopes } from '../../src/sandbox/keys.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { firstRowPaths, type SandboxResponse, sendRequest } from './requests.ts'

let sandbox: Sandbox
let at: Awaited<ReturnType<typeof firstRowPaths>>
beforeEach(async () => {
  const size = { conversations: 60, visitors: 30, calls: 30 }
  sandbox = await startSandbox({ seed: 5, size, projects: [{ size }], switches: { 'rate.kind': 'off' } })
  at = await firstRowPaths(sandbox)
})
afterEach(() => sandbox.stop())

const post = (path: string, body: unknown, key?: string) =>
  sendRequest(sandbox, path, { method: 'POST', body, ...(key === undefined ? {} : { key }) })
const patch = (body: unknown) => sendRequest(sandbox, at.visitor, { method: 'PATCH', body })
const fieldsOf = (answer: SandboxResponse) =>
  answer.body.error.context.issues.map((issue: { path: string[] }) => issue.path[0])
const conversation = async () => (await sendRequest(sandbox, at.conversation)).body.data

describe('authentication', () => {
  test('a key is taken from either header, and x-api-key wins if both are present', async () => {
    const good = sandbox.key
    expect((await sendRequest(sandbox, at.conversation, { key: good })).status).toBe(200)
    expect((await sendRequest(sandbox, at.conversation, { key: null, headers: { 'x-api-key': good } })).status).toBe(
      200,
    )
    expect((await sendRequest(sandbox, at.conversation, { key: 'wrong', headers: { 'x-api-key': good } })).status).toBe(
      200,
    )
    expect((await sendRequest(sandbox, at.conversation, { key: good, headers: { 'x-api-key': 'wrong' } })).status).toBe(
      401,
    )
  })

  test('a key belongs to one project: a path of another is refused, a row of another does not exist', async () => {
    const other = sandbox.projectIds[1]!
    const elsewhere = await sendRequest(sandbox, `/public/projects/${other}/conversations`)
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([403, 'api_key_wrong_project'])
    const row = sandbox.truth('conversations', other).next().value!.id
    const hidden = await sendRequest(sandbox, `/public/conversations/${row}`)
    expect([hidden.status, hidden.body.error.code]).toEqual([404, 'NOT_FOUND'])
    expect((await sendRequest(sandbox, `/public/conversations/${row}`, { key: 'svc_live_sandbox_2' })).status).toBe(200)
  })

  test('a key lacking a scope is refused and the message names the scope; a write scope implies no read scope', async () => {
    const needed: Record<string, () => Promise<SandboxResponse>> = {
      'conversations:read': () => sendRequest(sandbox, `${at.conversation}/messages`, { key: 'most' }),
      'conversations:write': () => post(`${at.conversation}/handled`, { handled: true }, 'most'),
      'visitors:read': () => sendRequest(sandbox, `${at.visitor}/activity`, { key: 'most' }),
      'visitors:write': () => post(`${at.visitor}/notes`, { content: 'x' }, 'most'),
      'calls:read': () => sendRequest(sandbox, `${at.call}/recording`, { key: 'most' }),
      'analytics:read': () => sendRequest(sandbox, `${at.base}/analytics`, { key: 'most' }),
      'availability:read': () => sendRequest(sandbox, `${at.base}/availability`, { key: 'most' }),
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

  test('revoking stops a key at once', async () => {
    sandbox.revokeKey(sandbox.key)
    expect((await sendRequest(sandbox, at.conversation)).body.error.code).toBe('api_key_invalid')
  })
})

describe('conversations', () => {
  test('the status is always open; handledAt alone tells handled from not handled, and `handled` filters on it', async () => {
    const list = async (query: string) =>
      (await sendRequest(sandbox, `${at.base}/conversations?limit=200${query}`)).body.data.items
    const [all, done, open] = [await list(''), await list('&handled=true'), await list('&handled=false')]
    expect(all).toHaveLength(60)
    expect(new Set(all.map((row: { status: string }) => row.status))).toEqual(new Set(['open']))
    expect(done.every((row: { handledAt: unknown }) => row.handledAt !== null)).toBe(true)
    expect(open.every((row: { handledAt: unknown }) => row.handledAt === null)).toBe(true)
    expect(done.length + open.length).toBe(60)
    expect(Math.min(done.length, open.length)).toBeGreaterThan(0)
  })

  test('the last message’s time and sender agree with the messages, in all of them', () => {
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
    await post(`${at.conversation}/handled`, { handled: true })
    expect((await conversation()).handledAt).toBeTypeOf('string')
    await post(`${at.conversation}/handled`, { handled: false })
    expect((await conversation()).handledAt).toBeNull()
    await post(`${at.conversation}/handled`, { handled: true })
    await post(`${at.conversation}/messages`, { content: 'Hello', senderName: 'Ann' })
    expect(await conversation()).toMatchObject({ handledAt: null, lastMessageSenderType: 'agent' })
    const messages = (await sendRequest(sandbox, `${at.conversation}/messages?limit=200`)).body.data.items
    expect(messages.at(-1)).toMatchObject({
      content: 'Hello',
      senderDisplayName: 'Ann',
      senderType: 'agent',
      kind: 'utterance',
    })
  })

  test('a bad body changes nothing and names the offending fields', async () => {
    const before = await conversation()
    expect(fieldsOf(await post(`${at.conversation}/messages`, {}))).toEqual(['content', 'senderName'])
    expect(fieldsOf(await post(`${at.conversation}/messages`, { content: 'x' }))).toEqual(['senderName'])
    expect(fieldsOf(await post(`${at.conversation}/messages`, { content: 7, senderName: null }))).toEqual([
      'content',
      'senderName',
    ])
    expect(fieldsOf(await post(`${at.conversation}/handled`, { handled: 'true' }))).toEqual(['handled'])
    expect(fieldsOf(await post(`${at.conversation}/handled`, []))).toEqual(['body'])
    expect(await conversation()).toEqual(before)
    expect(sandbox.ledger()).toEqual([])
  })
})

describe('visitors and calls', () => {
  test('a correction needs both fields, null clears a value, and other fields stay', async () => {
    expect(fieldsOf(await patch({ name: 'Ann' }))).toEqual(['email'])
    expect(fieldsOf(await patch({ name: 3, email: 'a@b.c' }))).toEqual(['name'])
    const before = (await sendRequest(sandbox, at.visitor)).body.data
    expect((await patch({ name: 'Ann', email: null })).status).toBe(200)
    const { updatedAt: _was, ...rest } = before
    expect((await sendRequest(sandbox, at.visitor)).body.data).toMatchObject({ ...rest, name: 'Ann', email: null })
  })

  test.for(['content', 'note', 'text', 'body'] as const)(
    'a note’s text is in `%s` where the switch says so, and a 400 names that field',
    async (field) => {
      sandbox.setSwitches({ 'note.field': field })
      expect(fieldsOf(await post(`${at.visitor}/notes`, { other: 'x' }))).toEqual([field])
      expect([...sandbox.truth('notes')]).toEqual([])
      expect((await post(`${at.visitor}/notes`, { [field]: 'Likes tea' })).status).toBe(200)
      expect([...sandbox.truth('notes')].map(({ row }) => (row as Record<string, unknown>)[field])).toEqual([
        'Likes tea',
      ])
    },
  )

  test('a call without a recording says hasRecording false, or 404 where the switch says so', async () => {
    const { id } = sandbox.mutate.addCall()
    const recording = () => sendRequest(sandbox, `/public/calls/${id}/recording`)
    expect((await recording()).body.data.hasRecording).toBe(false)
    sandbox.setSwitches({ 'recordings.none': '404' })
    expect((await recording()).body.error.code).toBe('NOT_FOUND')
    sandbox.mutate.recordingAppears(id)
    expect((await recording()).body.data.hasRecording).toBe(true)
  })

  test('rows that do not exist answer NOT_FOUND, deleted ones too', async () => {
    const nobody = '00000000-0000-4000-8000-000000000000'
    sandbox.mutate.deleteCall(at.callId)
    const paths = [
      `/public/conversations/${nobody}`,
      `/public/conversations/${nobody}/messages`,
      '/public/calls/x',
      at.call,
    ]
    for (const path of [...paths, `${at.base}/visitors/${nobody}`, `${at.base}/visitors/${nobody}/activity`]) {
      const { status, body } = await sendRequest(sandbox, path)
      expect([path, status, body.error.code]).toEqual([path, 404, 'NOT_FOUND'])
    }
  })

  test('the rollup’s counts are those of the window, and availability is the project’s', async () => {
    const window = 'from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z'
    const { data } = (await sendRequest(sandbox, `${at.base}/analytics?${window}`)).body
    const calls = [...sandbox.truth('calls')].filter(({ row }) =>
      String((row as { startedAt: string }).startedAt).startsWith('2026-05-01'),
    )
    expect(data.calls.total).toBe(calls.length)
    expect((await sendRequest(sandbox, `${at.base}/availability`)).body.data.projectId).toBe(sandbox.projectId)
  })
})

describe('queries', () => {
  test('the page size is 50 unless `limit` says otherwise, from 1 to 200', async () => {
    const sizeOf = async (limit: string) =>
      (await sendRequest(sandbox, `${at.base}/conversations${limit}`)).body.data?.items.length
    expect(await sizeOf('')).toBe(50)
    expect(await sizeOf('?limit=1')).toBe(1)
    expect(await sizeOf('?limit=200')).toBe(60)
    for (const limit of ['0', '201', '-1', '1.5', 'ten', '']) {
      expect(fieldsOf(await sendRequest(sandbox, `${at.base}/conversations?limit=${limit}`)), limit).toEqual(['limit'])
    }
  })

  test('timestamps must be RFC 3339, and every offending parameter is named', async () => {
    for (const bad of ['yesterday', '2026-05-01', '1780000000', '2026-13-01T00:00:00Z', '2026-05-01T00:00:00']) {
      expect(fieldsOf(await sendRequest(sandbox, `${at.base}/visitors?since=${bad}`)), bad).toEqual(['since'])
    }
    expect(fieldsOf(await sendRequest(sandbox, `${at.base}/calls?from=x&to=y&limit=z`))).toEqual([
      'from',
      'to',
      'limit',
    ])
    expect(fieldsOf(await sendRequest(sandbox, `${at.base}/conversations?handled=yes`))).toEqual(['handled'])
    expect(fieldsOf(await sendRequest(sandbox, `${at.visitor}/activity?before=x`))).toEqual(['before'])
    expect(fieldsOf(await sendRequest(sandbox, `${at.base}/analytics`))).toEqual(['from', 'to'])
    expect((await sendRequest(sandbox, `${at.base}/visitors?since=2026-05-01T02:00:00%2B02:00`)).status).toBe(200)
  })
})

test('the widget token takes a bearer key alone, and expires after ttl seconds', async () => {
  const mint = (body: unknown, headers = {}, key: string | null = sandbox.key) =>
    sendRequest(sandbox, '/v1/widget/token', { method: 'POST', body, headers, key })
  const { data } = (await mint({ visitor: { email: 'a@b.c' }, metadata: { cart: 3 }, ttl: 90 })).body
  expect(Date.parse(data.expiresAt) - Math.floor(sandbox.now() / 1000) * 1000).toBeLessThanOrEqual(90_000)
  expect(data.token).not.toBe((await mint({ ttl: 90 })).body.data.token)
  expect((await mint({}, { 'x-api-key': sandbox.key }, null)).status).toBe(401)
  expect(fieldsOf(await mint({ ttl: '60' }))).toEqual(['ttl'])
  expect(fieldsOf(await mint({ visitor: { email: 4 } }))).toEqual(['email'])
})

test('below a prefix the API answers there and nowhere else, and the widget token keeps its own version', async () => {
  const versioned = await startSandbox({ prefix: '/v1' })
  try {
    const path = `/public/projects/${versioned.projectId}/availability`
    expect((await sendRequest(versioned, path)).status).toBe(200)
    const root = { ...versioned, baseUrl: versioned.origin }
    expect((await sendRequest(root, path)).status).toBe(404)
    for (const base of [root, versioned]) {
      expect((await sendRequest(base, '/v1/widget/token', { method: 'POST', body: {} })).status).toBe(200)
    }
  } finally {
    await versioned.stop()
  }
})
