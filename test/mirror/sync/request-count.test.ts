import { expect, test } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { sampled } from '../../support/sampled.ts'
import { findDifferences, verifyOnce } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const children = { messagesPerConversation: [1, 20], activityPerVisitor: [0, 5] } as const
const optionsOf = (size: object, switches: object = {}) => ({
  seed: 5,
  size: { ...children, ...size },
  switches,
})

const countOpen = (sandbox: Sandbox) =>
  [...sandbox.truth('conversations')].filter(
    ({ row }) => (row as { handledAt: unknown }).handledAt === null,
  ).length

const larger = { conversations: 410, visitors: 210, calls: 205, days: 12 }

test('a first sync uses at most 1.02 times the minimum number of requests', async () => {
  await withSandbox(optionsOf(larger), async ({ sandbox, sync }) => {
    const { conversations, visitors, calls, days } = larger
    const pages = [conversations, visitors, calls].map((rows) => Math.ceil(rows / 200))
    const least = pages.reduce((a, b) => a + b) + conversations + visitors + calls + days + 1
    expect((await sync()).outcome).toBe('complete')
    expect(sandbox.log().length).toBeLessThanOrEqual(least * 1.02)
  })
})

test('verify asks once, not for each list, whether `hasMore` is set', async () => {
  const size = { conversations: 80, visitors: 60, calls: 1, days: 1 }
  await withSandbox(optionsOf(size), async ({ sandbox, sync, url }) => {
    const { requests } = await sync()
    // Several lists are read before the first one has shown it.
    expect((await verifyOnce(url, sandbox)).requests).toBeLessThanOrEqual(requests * 1.5)
  })
})

const pageSize = 60
const sortTimes = ['lastMessageAt', 'createdAt', 'updatedAt'] as const
for (const since of sampled(sortTimes, (time) => time === 'lastMessageAt')) {
  test(`a sync without new rows uses at most 8 requests and one per further page of open conversations — ordered by ${since}`, async () => {
    // More than two pages of open conversations where the order is the usual one.
    const conversations = since === 'lastMessageAt' ? 130 : 90
    const size = {
      conversations,
      visitors: 30,
      calls: 30,
      days: 5,
      messagesPerConversation: [1, 3],
    }
    const orders = { 'conversations.since': since, 'calls.order': 'newest' } as const
    const options = optionsOf(size, { ...orders, 'pages.size': pageSize })
    await withSandbox(options, async ({ sandbox, sync }) => {
      await sync()
      sandbox.resetLog()
      const second = await sync()
      expect(second.changed).toBeLessThanOrEqual(2)
      expect(sandbox.log().length).toBeLessThanOrEqual(
        8 + Math.max(0, Math.ceil(countOpen(sandbox) / pageSize) - 1),
      )
    })
  })
}

test('a service that always sets `hasMore` costs a few requests once, and none afterwards', async () => {
  const options = optionsOf(
    { conversations: 60, visitors: 30, calls: 20, days: 5 },
    { hasMore: 'always' },
  )
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    expect((await sync()).outcome).toBe('complete')
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    // What was written during the last seconds is read once more after them.
    sandbox.advance(60_000)
    await sync()
    sandbox.resetLog()
    await sync()
    expect(sandbox.log().length).toBeLessThanOrEqual(8)
  })
})

test('changes that `since` shows need no reconcile: new conversations, messages, visitors, activity and late calls', async () => {
  const options = optionsOf({ conversations: 120, visitors: 60, calls: 40, days: 5 })
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.advance(60_000)
    const added = ['addConversation', 'addVisitor', 'addActivity', 'addCall', 'lateCall'] as const
    sandbox.applyRandomMutations(60, 9, ['visitorWrites', 'agentReplies', ...added])
    await sync()
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('the next incremental sync finds handled flags that were changed elsewhere', async () => {
  const options = optionsOf({ conversations: 60, visitors: 20, calls: 5, days: 5 })
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    await sync()
    const rows = [...sandbox.truth('conversations')].map(({ id, row }) => ({
      id: id!,
      handledAt: (row as { handledAt: string | null }).handledAt,
    }))
    for (const { id } of rows.filter(({ handledAt }) => handledAt === null).slice(0, 5))
      sandbox.mutate.setHandled(id, true)
    for (const { id } of rows.filter(({ handledAt }) => handledAt !== null).slice(0, 5))
      sandbox.mutate.setHandled(id, false)
    await sync()
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    const changes = await warehouse.query(
      `select count(*) as n from conversation_changes where field = 'handled_at'`,
    )
    expect(Number(changes[0]!.n)).toBe(10)
  })
})

test('a start date limits calls, activity and rollups, and moving it back adds them', async () => {
  const options = optionsOf({ conversations: 20, visitors: 30, calls: 60, days: 20 })
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const startDate = Math.floor(sandbox.now() / 1000) - 5 * 86_400
    await sync({ project: { startDate } })
    const since = new Date(startDate * 1000).toISOString()
    for (const table of ['calls', 'visitor_activity']) {
      const [{ early }] = (await warehouse.query(
        `select count(*) as early from ${table} where occurred_at < '${since.slice(0, 19)}Z'`,
      )) as [{ early: number }]
      expect(early).toBeLessThan(5)
    }
    expect(await warehouse.query('select count(*) as n from analytics_rollups')).toEqual([{ n: 6 }])
    await sync()
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    sandbox.resetLog()
    await sync()
    expect(sandbox.log().length).toBeLessThanOrEqual(8)
  })
})
