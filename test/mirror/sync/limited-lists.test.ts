/**
 * Lists that end at a number of rows without saying so: nothing is taken for complete that is not.
 */
import { expect, test } from 'vitest'
import { suspectListCap } from '../../../src/mirror/core/message-list-cap.ts'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne, sampled } from '../../support/sampled.ts'
import { findDifferences, unexplainedDifferences } from './sync-sandbox.ts'
import { hasListTime } from './uncovered-rows.ts'
import { withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne()

const lists = { conversations: 24, visitors: 2, calls: 0, days: 9, activityPerVisitor: 0 } as const
const size = { ...lists, messagesPerConversation: [3, 45] } as const
const streams = ['conversations', 'messages'] as const

const services: Record<string, Partial<Switches>> = {
  'shows the last 20, whatever is asked for': { 'messages.paging': 'all', 'messages.most': 20 },
  'shows the last 20, and refuses bounds': {
    'messages.paging': 'limit',
    'messages.most': 20,
    'query.unknown': 'rejected',
  },
  'shows those of the last 20 that a bound selects': {
    'messages.paging': 'before',
    'messages.most': 20,
  },
}

for (const [name, switches] of Object.entries(services))
  for (const db of databases)
    testOnOne(
      db.name,
      `no conversation counts as complete of which messages are missing: a service that ${name} — ${db.name}`,
      async () => {
        await withSandbox(
          { seed: 1, speed: 0, size, switches, db, streams },
          async ({ sandbox, warehouse, sync }) => {
            for (const mode of ['incremental', 'incremental', 'reconcile'] as const) {
              expect(await sync({ mode })).toMatchObject({ outcome: 'gaps' })
              expect(await unexplainedDifferences(warehouse, sandbox, streams)).toEqual([])
              sandbox.advance(60_000)
              sandbox.applyRandomMutations(10, 1, ['visitorWrites'])
            }
            const [whole] = await warehouse.query(
              'select count(*) as n from conversations where messages_complete',
            )
            expect(Number(whole!.n)).toBeGreaterThan(5)
            sandbox.setSwitches({ 'messages.most': 0 })
            await sync({ mode: 'reconcile' })
            expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
            expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
          },
        )
      },
    )

const reachable: Record<string, Partial<Switches>> = {
  'the newest first, in pages of 20, and `before` shows the rest': {
    'messages.paging': 'before',
    'messages.order': 'newest',
    'messages.page': 20,
  },
  'the last 30, oldest first, and `before` shows the rest': {
    'messages.paging': 'before',
    'messages.order': 'newest-ascending',
    'messages.page': 30,
  },
  'the oldest first, in pages of 20, and `since` shows the rest': {
    'messages.paging': 'since',
    'messages.order': 'oldest',
    'messages.page': 20,
  },
}

for (const [name, switches] of Object.entries(reachable))
  for (const db of databases)
    for (const conversations of sampled([24, 8, 1], (count) => count === 8))
      testOnOne(
        db.name,
        `nothing is missing if a service shows ${name}, and never sets \`hasMore\`: ${conversations} conversations — ${db.name}`,
        async () => {
          const never = { ...switches, 'messages.limit': 'ignored', hasMore: 'never' } as const
          const messagesPerConversation: [number, number] = conversations > 2 ? [3, 75] : [64, 64]
          const counts = { ...lists, conversations, messagesPerConversation }
          const options = { seed: 1, speed: 0, size: counts, switches: never, db, streams } as const
          await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
            for (let n = 0; n < 3; n++) {
              expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
              expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
              sandbox.advance(3_600_000)
              sandbox.applyRandomMutations(30, n, [
                'visitorWrites',
                'agentReplies',
                'addConversation',
              ])
            }
          })
        },
      )

test('a limit that is lifted between two syncs hides nothing any longer, without a reconcile', async () => {
  const switches = { 'messages.paging': 'all', 'messages.most': 20 } as const
  await withSandbox(
    { seed: 1, speed: 0, size, switches, streams },
    async ({ sandbox, warehouse, sync }) => {
      expect(await sync()).toMatchObject({ outcome: 'gaps' })
      sandbox.setSwitches({ 'messages.most': 0 })
      sandbox.advance(3_600_000)
      const longest = [...sandbox.truth('conversations')].map(({ id }) => id!)
      for (const id of longest) sandbox.mutate.visitorWrites(id)
      await sync()
      expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
      expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
    },
  )
})

test('a limit that another one replaces is noticed as well', async () => {
  const switches = { 'messages.paging': 'all', 'messages.most': 20 } as const
  await withSandbox(
    { seed: 1, speed: 0, size, switches, streams },
    async ({ sandbox, warehouse, sync }) => {
      await sync()
      for (const most of [30, 15, 12]) {
        sandbox.setSwitches({ 'messages.most': most })
        sandbox.advance(3_600_000)
        sandbox.applyRandomMutations(10, most, ['visitorWrites'])
        expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'gaps' })
        expect(await unexplainedDifferences(warehouse, sandbox, streams)).toEqual([])
      }
    },
  )
})

test('more new messages than a limited list shows make the conversation incomplete', async () => {
  const short = { ...lists, conversations: 1, messagesPerConversation: [8, 8] } as const
  const switches = { 'messages.paging': 'all', 'messages.most': 20 } as const
  await withSandbox(
    { seed: 1, speed: 0, size: short, switches, streams },
    async ({ sandbox, warehouse, sync }) => {
      await sync()
      const id = [...sandbox.truth('conversations')][0]!.id!
      for (let n = 0; n < 30; n++) sandbox.mutate.visitorWrites(id, `Message ${n}`)
      expect(await sync()).toMatchObject({ outcome: 'gaps' })
      expect(await unexplainedDifferences(warehouse, sandbox, streams)).toEqual([])
    },
  )
})

test('a conversation has as many messages as the longest list by chance: it counts as complete', () => {
  const list = (rows: number, oldest: number) => {
    return { parentId: `c${rows}`, rows, began: 1000, lastAt: 9000, oldest, newest: 9000 }
  }
  expect(suspectListCap([20, 20, 20, 5, 4].map((rows) => list(rows, 1000)))).toBeNull()
  // Conversations whose lists begin later than they do, of all lengths.
  expect(suspectListCap([20, 19, 19, 18, 17, 12, 5].map((rows) => list(rows, 2000)))).toBeNull()
  expect(suspectListCap([20, 20, 20, 20, 19, 12, 5].map((rows) => list(rows, 2000)))).toBe(20)
  expect(suspectListCap([list(20, 2000), list(12, 1000), list(9, 1000), list(4, 1000)])).toBe(20)
  expect(suspectListCap([3, 3, 3, 3].map((rows) => list(rows, 2000)))).toBeNull()
})

const tables = ['conversations', 'visitors', 'calls'] as const
const listed = { conversations: 70, visitors: 47, calls: 45, days: 30 } as const
const small = { messagesPerConversation: [1, 2], activityPerVisitor: [0, 0] } as const

// Where `hasMore` seems right, pages of fewer than ten rows are not tested.
const sampledSizes = { always: 3, never: 7, absent: 20, asked: 12 } as const
for (const hasMore of ['always', 'never', 'absent', 'asked'] as const)
  for (const most of sampled(
    hasMore === 'asked' ? [12, 20] : [3, 7, 20],
    (size) => size === sampledSizes[hasMore],
  ))
    test(`pages of ${most} lose no row, whatever \`hasMore\` says: ${hasMore}`, async () => {
      const order = most === 7 ? 'newest' : 'oldest'
      const switches = { hasMore, 'pages.most': most, 'calls.order': order } as const
      const options = { seed: 1, speed: 0, size: { ...listed, ...small }, switches } as const
      await withSandbox({ ...options, streams: tables }, async ({ sandbox, warehouse, sync }) => {
        for (const mode of ['incremental', 'incremental', 'reconcile'] as const) {
          expect(await sync({ mode })).toMatchObject({ outcome: 'complete', gaps: [] })
          expect(await findDifferences(warehouse, sandbox, undefined, tables)).toEqual([])
          sandbox.advance(3_600_000)
          // More than a page holds in one second would be a gap.
          const added = Math.min(12, most - 1)
          sandbox.applyRandomMutations(added, 3, ['addConversation', 'visitorWrites'])
        }
      })
    })

test('a list is a gap if rows exist that it does not show any longer, and nothing reaches them', async () => {
  const switches = { hasMore: 'never', 'pages.size': 20, 'visitors.order': 'newest' } as const
  const visitors = { ...listed, conversations: 0, visitors: 40, calls: 0 } as const
  const options = { seed: 1, speed: 0, size: { ...visitors, ...small }, switches } as const
  await withSandbox({ ...options, streams: ['visitors'] }, async ({ sandbox, sync }) => {
    await sync()
    sandbox.advance(86_400_000)
    for (let n = 0; n < 4; n++) sandbox.mutate.addVisitor()
    await sync()
    sandbox.advance(86_400_000)
    const { gaps } = await sync({ mode: 'reconcile' })
    expect(gaps).toMatchObject([
      { stream: 'visitors', reason: expect.stringContaining('does not list all visitors') },
    ])
    sandbox.setSwitches({ 'pages.size': 0 })
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
  })
})

test('a first page of rows without a time does not hide those that have one, where nothing says that more follow', async () => {
  const switches = {
    'calls.order': 'oldest',
    'undated.of': 'calls',
    'undated.share': 0.3,
    'undated.end': 'oldest',
    'undated.times': 'all',
    'pages.most': 10,
    hasMore: 'absent',
  } as const
  const size = { conversations: 0, visitors: 1, calls: 60, days: 9, activityPerVisitor: 0 } as const
  const options = { seed: 1, speed: 0, size, switches, streams: ['calls'] } as const
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    for (const mode of ['incremental', 'reconcile'] as const) {
      const gaps = [{ stream: 'calls', reason: expect.stringContaining('without a time') }]
      expect(await sync({ mode })).toMatchObject({ outcome: 'gaps', gaps })
      const missing = await findDifferences(warehouse, sandbox, undefined, ['calls'])
      expect(missing.filter((row) => hasListTime('calls', row))).toEqual([])
    }
  })
})
