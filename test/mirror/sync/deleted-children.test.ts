/**
 * Messages and entries of activity that the service no longer has are marked; what a cut list
 * leaves out is not.
 */
import { expect, test } from 'vitest'
import type { Warehouse } from '../../../src/app/open.ts'
import { databases, type TestDatabase } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { type SandboxContext, withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne('postgres')

const lists = { conversations: 8, visitors: 8, calls: 0, days: 2 } as const
const size = { ...lists, messagesPerConversation: [4, 12], activityPerVisitor: [4, 9] } as const

const withLists = (
  work: (context: SandboxContext) => Promise<void>,
  db: TestDatabase = databases[0]!,
) => withSandbox({ seed: 1, speed: 0, size, db }, work)

const countDeleted = async (warehouse: Warehouse, table: 'messages' | 'visitor_activity') =>
  Number(
    (await warehouse.query(`select count(*) as n from ${table} where deleted_at is not null`))[0]!
      .n,
  )

for (const db of databases) {
  testOnOne(
    db.name,
    `a reconcile marks a deleted message and a deleted entry of activity, wherever they were — ${db.name}`,
    async () => {
      await withLists(async ({ sandbox, warehouse, sync }) => {
        await sync()
        const [first, second] = [...sandbox.truth('conversations')].map(({ id }) => id!)
        const [visitor] = [...sandbox.truth('visitors')].map(({ id }) => id!)
        sandbox.mutate.deleteMessage(first!, 2)
        sandbox.mutate.deleteMessage(second!, 0)
        sandbox.mutate.deleteActivity(visitor!, 1)
        sandbox.advance(60_000)
        await sync({ mode: 'reconcile' })
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
        expect(await countDeleted(warehouse, 'messages')).toBe(2)
        expect(await countDeleted(warehouse, 'visitor_activity')).toBe(1)
        const whole = await warehouse.query(
          'select id from conversations where not messages_complete',
        )
        expect(whole).toEqual([])
      }, db)
    },
  )
}

test('a message that one reading misses, and the next one shows, is not marked', async () => {
  await withLists(async ({ sandbox, warehouse, sync }) => {
    await sync()
    const [id] = [...sandbox.truth('conversations')].map((row) => row.id!)
    sandbox.mutate.deleteMessage(id!, 1)
    sandbox.advance(60_000)
    sandbox.resetLog()
    const answered = () =>
      sandbox.log().filter(({ path, query }) => path.endsWith('/messages') && query === 'limit=200')
    // Every list has been answered once.
    const onProgress = () => {
      if (answered().length === size.conversations) sandbox.mutate.restoreMessage(id!, 1)
    }
    await sync({ mode: 'reconcile', onProgress, streams: ['conversations', 'messages'] })
    expect(answered().length).toBe(size.conversations + 1)
    expect(await countDeleted(warehouse, 'messages')).toBe(0)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('a message that appears again is no longer marked', async () => {
  await withLists(async ({ sandbox, warehouse, sync }) => {
    await sync()
    const [id] = [...sandbox.truth('conversations')].map((row) => row.id!)
    sandbox.mutate.deleteMessage(id!, 1)
    await sync({ mode: 'reconcile' })
    expect(await countDeleted(warehouse, 'messages')).toBe(1)
    sandbox.mutate.restoreMessage(id!, 1)
    await sync({ mode: 'reconcile' })
    expect(await countDeleted(warehouse, 'messages')).toBe(0)
  })
})

test('lists that suddenly show only their last messages lose none, and say that they may be cut', async () => {
  await withLists(async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.setSwitches({ 'messages.most': 4 })
    for (const mode of ['reconcile', 'full', 'reconcile'] as const) {
      const { gaps } = await sync({ mode })
      expect(gaps.some(({ stream }) => stream === 'messages')).toBe(true)
      expect(await countDeleted(warehouse, 'messages')).toBe(0)
    }
  })
})

test('if most messages are gone from amid their lists, none is marked until a full sync', async () => {
  const many = {
    ...lists,
    conversations: 6,
    messagesPerConversation: [40, 40],
    activityPerVisitor: 0,
  } as const
  await withSandbox({ seed: 1, speed: 0, size: many }, async ({ sandbox, warehouse, sync }) => {
    await sync()
    for (const { id } of sandbox.truth('conversations'))
      for (let k = 3; k < 37; k += 2) sandbox.mutate.deleteMessage(id!, k)
    expect((await sync({ mode: 'reconcile' })).gaps.length).toBeGreaterThan(0)
    expect(await countDeleted(warehouse, 'messages')).toBe(0)
    await sync({ mode: 'full' })
    expect(await countDeleted(warehouse, 'messages')).toBe(6 * 17)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})
