/** The data of the sandbox: the same for the same seed, of any size, and changeable. */
import { afterEach, expect, test } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import { truthStreams } from '../../src/sandbox/project.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { firstRowPaths, sendRequest } from './requests.ts'

const running: Sandbox[] = []
afterEach(async () => {
  for (const sandbox of running.splice(0)) await sandbox.stop()
})

async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({
    speed: 0,
    ...options,
    switches: { 'rate.kind': 'off', ...options.switches },
  })
  running.push(sandbox)
  return sandbox
}

const allRows = (sandbox: Sandbox) =>
  truthStreams.map((stream) => JSON.stringify([...sandbox.truth(stream)]))

test('the same seed creates the same data and the same changes; another seed creates others', async () => {
  const [first, same, other] = [
    await start({ seed: 8 }),
    await start({ seed: 8 }),
    await start({ seed: 9 }),
  ]
  expect(allRows(first)).toEqual(allRows(same))
  expect(first.projectId).toBe(same.projectId)
  expect(first.projectId).not.toBe(other.projectId)
  const before = allRows(first)
  expect(first.applyRandomMutations(200, 4)).toEqual(same.applyRandomMutations(200, 4))
  expect(allRows(first)).toEqual(allRows(same))
  expect(allRows(first)).not.toEqual(before)
})

for (const field of ['createdAt', 'lastMessageAt', 'updatedAt'] as const) {
  test(`the truth equals the API's responses, also after many changes, ordered by ${field}`, async () => {
    const visitorField = field === 'lastMessageAt' ? 'lastSeenAt' : field
    const sandbox = await start({
      size: { conversations: 40, visitors: 25, calls: 25 },
      switches: {
        'conversations.since': field,
        'visitors.since': visitorField,
        'conversations.updatedAt': true,
      },
    })
    const { base } = await firstRowPaths(sandbox)
    const list = async (path: string) =>
      (await sendRequest(sandbox, `${path}?limit=200`)).body.data.items
    const byId = (rows: Record<string, string>[]) =>
      rows.toSorted((a, b) => (a.id! < b.id! ? -1 : 1))
    const truth = (stream: (typeof truthStreams)[number], parent: string | null = null) =>
      [...sandbox.truth(stream)]
        .filter(({ parentId }) => parentId === parent)
        .map(({ row }) => row as Record<string, string>)
    const orders = { conversations: field, visitors: visitorField, calls: 'startedAt' } as const
    for (let step = 0; step < 4; step += 1) {
      for (const stream of ['conversations', 'visitors', 'calls'] as const) {
        const rows = await list(`${base}/${stream}`)
        expect(byId(rows)).toEqual(byId(truth(stream)))
        const times = rows.map((row: Record<string, string>) => row[orders[stream]])
        expect(times).toEqual(times.toSorted())
      }
      sandbox.advance(90_000)
      sandbox.applyRandomMutations(50, step)
    }
    // The order of the lists is nothing to these.
    if (field !== 'updatedAt') return
    for (const { id } of sandbox.truth('conversations')) {
      expect(await list(`/public/conversations/${id}/messages`)).toEqual(truth('messages', id))
    }
    for (const { id } of sandbox.truth('visitors')) {
      expect((await list(`${base}/visitors/${id}/activity`)).reverse()).toEqual(
        truth('visitor_activity', id),
      )
    }
    for (const { id } of sandbox.truth('calls')) {
      expect([(await sendRequest(sandbox, `/public/calls/${id}/recording`)).body.data]).toEqual(
        truth('call_recordings', id),
      )
    }
  })
}

test('an id that differs in one place is unknown, and ids are case-insensitive', async () => {
  const sandbox = await start()
  const { conversationId } = await firstRowPaths(sandbox)
  const almost = conversationId.slice(0, -1) + (conversationId.endsWith('0') ? '1' : '0')
  expect((await sendRequest(sandbox, `/public/conversations/${almost}`)).status).toBe(404)
  expect(
    (await sendRequest(sandbox, `/public/conversations/${conversationId.toUpperCase()}`)).status,
  ).toBe(200)
})

test('a million messages need little memory, and any of them is found at once', async () => {
  const before = process.memoryUsage().heapUsed
  const sandbox = await start({
    size: { conversations: 10_000, messagesPerConversation: 100, visitors: 20_000 },
  })
  const { base } = await firstRowPaths(sandbox)
  const far = (await sendRequest(sandbox, `${base}/conversations?since=2026-05-31T00:00:00Z`)).body
    .data.items[3]
  const { items } = (
    await sendRequest(sandbox, `/public/conversations/${far.id}/messages?limit=200`)
  ).body.data
  expect(items).toHaveLength(100)
  expect(items.at(-1).createdAt).toBe(far.lastMessageAt)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(60 << 20)
})

test('the backlog of open conversations can be limited to the newest', async () => {
  const sandbox = await start({ size: { conversations: 200, openConversations: 20 } })
  const isOpen = [...sandbox.truth('conversations')].map(
    ({ row }) => (row as { handledAt: unknown }).handledAt === null,
  )
  expect(isOpen).toHaveLength(200)
  expect(isOpen.slice(0, -20)).not.toContain(true)
  expect(isOpen.slice(-20)).toContain(true)
})

test('message ids are unique in the whole project', async () => {
  const sandbox = await start()
  sandbox.applyRandomMutations(100, 1)
  const ids = [...sandbox.truth('messages')].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('texts contain what breaks programs, and visitors lack what programs expect', async () => {
  const sandbox = await start({ size: { conversations: 1000, messagesPerConversation: 20 } })
  const texts = [...sandbox.truth('messages')].map(({ row }) =>
    String((row as Record<string, unknown>).content),
  )
  expect(texts.some((text) => text.includes('\u0000'))).toBe(true)
  expect(texts.some((text) => text.includes('🙏🏽'))).toBe(true)
  expect(texts.some((text) => text.length > 20_000)).toBe(true)
  expect(texts.includes('')).toBe(true)
  const visitors = [...sandbox.truth('visitors')].map(({ row }) => row as Record<string, unknown>)
  expect(visitors.some(({ email }) => email === null)).toBe(true)
  sandbox.setSwitches({ content: 'plain' })
  const plain = [...sandbox.truth('messages')].map(({ row }) =>
    String((row as Record<string, unknown>).content),
  )
  expect(plain.every((text) => !text.includes('\u0000') && text.length < 1000)).toBe(true)
})

test('the service has its own clock, and the seed data ends just before its start', async () => {
  const sandbox = await start({ now: '2030-02-03T04:05:06Z' })
  const { base, conversationId } = await firstRowPaths(sandbox)
  const { headers } = await sendRequest(sandbox, `${base}/availability`)
  expect(headers.get('date')).toBe('Sun, 03 Feb 2030 04:05:06 GMT')
  const newest = [...sandbox.truth('conversations')]
    .map(({ row }) => String((row as { lastMessageAt: string }).lastMessageAt))
    .sort()
    .at(-1)!
  expect(newest < '2030-02-03T04:05:06Z' && newest > '2030-01-30').toBe(true)
  expect(sandbox.now()).toBe(Date.parse('2030-02-03T04:05:06Z'))
  sandbox.advance(3_600_000)
  sandbox.mutate.visitorWrites(conversationId, 'Later')
  const { data } = (await sendRequest(sandbox, `/public/conversations/${conversationId}`)).body
  expect(data).toMatchObject({
    lastMessageAt: '2030-02-03T05:05:06Z',
    lastMessageSenderType: 'visitor',
    waitingSince: '2030-02-03T05:05:06Z',
  })
})

test('whether a visitor’s message reopens a handled conversation is a switch', async () => {
  const sandbox = await start()
  const { conversationId } = await firstRowPaths(sandbox)
  for (const reopens of [true, false]) {
    sandbox.setSwitches({ 'reopen.byVisitor': reopens })
    sandbox.mutate.setHandled(conversationId, true)
    sandbox.mutate.visitorWrites(conversationId)
    const { data } = (await sendRequest(sandbox, `/public/conversations/${conversationId}`)).body
    expect(data.handledAt === null).toBe(reopens)
  }
})

test('deletion removes a row with its children; an edit changes the text', async () => {
  const sandbox = await start()
  const { conversationId, visitorId, callId } = await firstRowPaths(sandbox)
  sandbox.mutate.editMessage(conversationId, 0, 'Corrected')
  expect((sandbox.truth('messages').next().value!.row as { content: string }).content).toBe(
    'Corrected',
  )
  sandbox.mutate.deleteConversation(conversationId)
  sandbox.mutate.deleteVisitor(visitorId)
  sandbox.mutate.deleteCall(callId)
  for (const stream of truthStreams) {
    const rows = [...sandbox.truth(stream)]
    for (const deleted of [conversationId, visitorId, callId]) {
      expect(rows.some(({ id, parentId }) => id === deleted || parentId === deleted)).toBe(false)
    }
  }
  expect(() => sandbox.mutate.visitorWrites(conversationId)).toThrow(RangeError)
})

test('two hundred projects, each with its own key and its own rows', async () => {
  const projects = Array.from({ length: 199 }, (_, n) => ({
    keys: [{ key: `svc_live_${n}` }],
    size: { conversations: 3 },
  }))
  const sandbox = await start({ projects })
  expect(new Set(sandbox.projectIds).size).toBe(200)
  for (const n of [0, 77, 198]) {
    const path = `/public/projects/${sandbox.projectIds[n + 1]}/conversations`
    expect(
      (await sendRequest(sandbox, path, { key: `svc_live_${n}` })).body.data.items,
    ).toHaveLength(3)
    expect((await sendRequest(sandbox, path)).status).toBe(403)
  }
})
