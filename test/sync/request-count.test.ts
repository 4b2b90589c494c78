import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { findDifferences, syncOnce } from './sync-sandbox.ts'

const [sqlite] = databases

async function withSandbox(
  size: { conversations: number; visitors: number; calls: number; days: number },
  switches: Partial<Switches>,
  work: (place: DatabaseInstance, sandbox: Sandbox) => Promise<void>,
): Promise<void> {
  const place = await sqlite!.make()
  const world = { ...size, messagesPerConversation: [1, 20], activityPerVisitor: [0, 5] } as const
  const sandbox = await startSandbox({ seed: 5, size: world, switches: { 'rate.kind': 'off', ...switches } })
  try {
    await work(place, sandbox)
  } finally {
    await sandbox.stop()
    await place.drop()
  }
}

const open = (sandbox: Sandbox) =>
  [...sandbox.truth('conversations')].filter(({ row }) => (row as { handledAt: unknown }).handledAt === null).length

const larger = { conversations: 620, visitors: 410, calls: 250, days: 12 }

test('a first sync uses at most 1.02 times the least requests there can be', async () => {
  await withSandbox(larger, {}, async (place, sandbox) => {
    const { conversations, visitors, calls, days } = larger
    const pages = [conversations, visitors, calls].map((rows) => Math.ceil(rows / 200))
    const least = pages.reduce((a, b) => a + b) + conversations + visitors + calls + days + 1
    expect((await syncOnce(place.url!, sandbox)).outcome).toBe('complete')
    expect(sandbox.log().length).toBeLessThanOrEqual(least * 1.02)
  })
})

for (const since of ['lastMessageAt', 'createdAt', 'updatedAt'] as const) {
  test(`a sync with nothing new uses at most 8 requests and one for each further open page — ordered by ${since}`, async () => {
    await withSandbox(larger, { 'conversations.since': since, 'calls.order': 'newest' }, async (place, sandbox) => {
      await syncOnce(place.url!, sandbox)
      sandbox.resetLog()
      const second = await syncOnce(place.url!, sandbox)
      expect(second.changed).toBeLessThanOrEqual(2)
      expect(sandbox.log().length).toBeLessThanOrEqual(8 + Math.max(0, Math.ceil(open(sandbox) / 200) - 1))
    })
  })
}

test('a service that always says that there is more costs a few requests once, and none afterwards', async () => {
  await withSandbox(
    { conversations: 60, visitors: 30, calls: 20, days: 5 },
    { hasMore: 'always' },
    async (place, sandbox) => {
      const warehouse = await place.open()
      expect((await syncOnce(place.url!, sandbox)).outcome).toBe('complete')
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
      sandbox.resetLog()
      await syncOnce(place.url!, sandbox)
      expect(sandbox.log().length).toBeLessThanOrEqual(8)
    },
  )
})

test('what `since` shows needs no reconcile: new conversations, messages, visitors, activity and late calls', async () => {
  await withSandbox({ conversations: 120, visitors: 60, calls: 40, days: 5 }, {}, async (place, sandbox) => {
    const warehouse = await place.open()
    await syncOnce(place.url!, sandbox)
    sandbox.advance(60_000)
    sandbox.applyRandomMutations(60, 9, [
      'visitorWrites',
      'agentReplies',
      'addConversation',
      'addVisitor',
      'addActivity',
      'addCall',
      'lateCall',
    ])
    await syncOnce(place.url!, sandbox)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('a flag set or lifted elsewhere shows in the next incremental pass', async () => {
  await withSandbox({ conversations: 60, visitors: 20, calls: 5, days: 5 }, {}, async (place, sandbox) => {
    const warehouse = await place.open()
    await syncOnce(place.url!, sandbox)
    const rows = [...sandbox.truth('conversations')].map(({ id, row }) => ({
      id: id!,
      handledAt: (row as { handledAt: string | null }).handledAt,
    }))
    for (const { id } of rows.filter(({ handledAt }) => handledAt === null).slice(0, 5))
      sandbox.mutate.setHandled(id, true)
    for (const { id } of rows.filter(({ handledAt }) => handledAt !== null).slice(0, 5))
      sandbox.mutate.setHandled(id, false)
    await syncOnce(place.url!, sandbox)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    const changes = await warehouse.query(`select count(*) as n from conversation_changes where field = 'handled_at'`)
    expect(Number(changes[0]!.n)).toBe(10)
  })
})

test('a start date holds calls, activity and rollups back, and gives them free when it is moved back', async () => {
  await withSandbox({ conversations: 20, visitors: 30, calls: 60, days: 20 }, {}, async (place, sandbox) => {
    const warehouse = await place.open()
    const startDate = Math.floor(sandbox.now() / 1000) - 5 * 86_400
    await syncOnce(place.url!, sandbox, { project: { startDate } })
    const since = new Date(startDate * 1000).toISOString()
    for (const table of ['calls', 'visitor_activity']) {
      const [{ early }] = (await warehouse.query(
        `select count(*) as early from ${table} where occurred_at < '${since.slice(0, 19)}Z'`,
      )) as [{ early: number }]
      expect(early).toBeLessThan(5)
    }
    expect(await warehouse.query('select count(*) as n from analytics_rollups')).toEqual([{ n: 6 }])
    await syncOnce(place.url!, sandbox)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
    sandbox.resetLog()
    await syncOnce(place.url!, sandbox)
    expect(sandbox.log().length).toBeLessThanOrEqual(8)
  })
})
