/**
 * Rows read by their ids beside the list's copies, empty pages with `hasMore`, and pages that run
 * in both directions.
 */
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { databases } from '../../support/databases.ts'
import { openCopy, runOnce, withService } from './interrupted-runs.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const size = {
  conversations: 30,
  visitors: 10,
  calls: 10,
  days: 2,
  messagesPerConversation: [1, 3],
} as const
const options = { seed: 3, speed: 0, size }

for (const shape of ['more', 'fewer'] as const) {
  test(`the list does not change back a conversation that was read by its id, if its own answer shows ${shape} fields than the list`, async () => {
    await withSandbox(
      { ...options, switches: { 'single.shape': shape } },
      async ({ sandbox, warehouse, sync }) => {
        await sync()
        const isOpen = (row: unknown) => (row as { handledAt: unknown }).handledAt === null
        const open = [...sandbox.truth('conversations')].filter(({ row }) => isOpen(row))
        for (const { id } of open.slice(0, 3)) sandbox.mutate.setHandled(id!, true)
        const conversations = async () =>
          (await sync()).streams.find(({ stream }) => stream === 'conversations')!
        expect((await conversations()).changed).toBe(3)
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
        expect((await conversations()).changed).toBe(0)
        await sync({ mode: 'reconcile' })
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
      },
    )
  })
}

test('ids are sent in the letters in which the service shows them', async () => {
  await withSandbox(
    { ...options, switches: { 'ids.letters': 'upper' } },
    async ({ sandbox, warehouse, sync }) => {
      for (const mode of ['incremental', 'reconcile'] as const) {
        expect((await sync({ mode })).gaps).toEqual([])
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
        for (const table of ['conversations', 'visitors', 'calls'])
          expect(
            await warehouse.query(`select id from ${table} where deleted_at is not null`),
          ).toEqual([])
      }
    },
  )
})

test('an id is the same row in whichever letters it is shown, on both databases', async () => {
  for (const db of databases) {
    const letters = { 'ids.letters': 'upper-in-lists', 'conversations.order': 'newest' } as const
    await withSandbox(
      { ...options, db, switches: letters },
      async ({ sandbox, warehouse, sync }) => {
        const count = async (table: string) =>
          Number((await warehouse.query(`select count(*) as n from ${table}`))[0]!.n)
        const counts = async () =>
          Promise.all(
            ['conversations', 'messages', 'visitors', 'visitor_activity', 'calls'].map(count),
          )
        await sync()
        const before = await counts()
        const isOpen = (row: unknown) => (row as { handledAt: unknown }).handledAt === null
        const open = [...sandbox.truth('conversations')].filter(({ row }) => isOpen(row))
        for (const { id } of open) sandbox.mutate.setHandled(id!, true)
        for (const mode of ['incremental', 'reconcile', 'incremental'] as const)
          expect(await sync({ mode })).toMatchObject({ gaps: [] })
        expect(await counts()).toEqual(before)
        const parted =
          'select id from conversations where visitor_id not in (select id from visitors)'
        expect(await warehouse.query(parted)).toEqual([])
      },
    )
  }
})

test('empty pages with `hasMore` are a gap, and the scan ends', async () => {
  const manyConversations = {
    ...options,
    size: { ...size, conversations: 230 },
    switches: { 'pages.hollow': true },
  }
  await withSandbox(manyConversations, async ({ sandbox, sync }) => {
    const { gaps } = await sync({ streams: ['conversations'] })
    // Of the whole list, and of the open conversations.
    const reason = 'the service reports more rows, but the page is empty'
    expect(gaps).toMatchObject([{ reason }, { reason }])
    expect(sandbox.log().length).toBeLessThan(10)
  })
})

test('that pages run in both directions is reported once only', async () => {
  const paging = { 'messages.limit': 'ignored', 'messages.paging': 'since' } as const
  const switches = { 'messages.order': 'oldest-bounded', ...paging } as const
  const longConversations = {
    ...options,
    size: { ...size, conversations: 2, messagesPerConversation: 60 },
    switches,
  }
  await withSandbox(longConversations, async ({ sandbox, warehouse, sync }) => {
    const id = [...sandbox.truth('conversations')][0]!.id!
    const found = []
    const lastModes = ['reconcile', 'incremental', 'reconcile'] as const
    for (const mode of ['incremental', 'incremental', 'incremental', ...lastModes] as const) {
      const { notices } = await sync({ mode })
      found.push(...notices.filter((notice) => notice.includes('messages.order')))
      sandbox.advance(700_000)
      for (let n = 0; n < 12; n += 1) {
        sandbox.advance(1000)
        sandbox.mutate.visitorWrites(id)
      }
    }
    expect(found.length).toBe(1)
    const behaviour = "select value from service_behaviours where name = 'messages.order'"
    expect(await warehouse.query(behaviour)).toEqual([{ value: 'both ways by createdAt' }])
  })
})

test('a row that alone is answered with a fault is a gap, and holds up no other', () =>
  withService({ what: '', list: 'visitors', switches: {} }, async (scene) => {
    const { sandbox } = scene
    const { warehouse } = await openCopy(scene)
    await runOnce(scene, warehouse, 'incremental')
    // No page shows them any more.
    sandbox.setSwitches({ 'undated.share': 0.5, 'undated.of': 'visitors' })
    const isHidden = (row: unknown) => (row as { lastSeenAt: unknown }).lastSeenAt === null
    const hidden = [...sandbox.truth('visitors')].filter(({ row }) => isHidden(row))
    const [faulty, deleted] = hidden.map(({ id }) => id!).sort()
    sandbox.mutate.deleteVisitor(deleted!)
    sandbox.setSwitches({ 'refused.paths': faulty!, 'refused.answer': 'gateway-500' })
    for (let n = 0; n < 2; n++) {
      const { outcome, reports } = await runOnce(scene, warehouse, 'reconcile')
      expect([outcome, reports.map(({ failed }) => failed)]).toEqual(['gaps', [null]])
      const gaps = await openMirror(warehouse, sandbox.projectId).listOpenGaps('visitors')
      expect(gaps.map(({ reason }) => reason)).toContainEqual(
        expect.stringMatching(new RegExp(`row ${faulty} .* 500`)),
      )
      const marked = 'select id from visitors where deleted_at is not null'
      expect(await warehouse.query(marked)).toEqual([{ id: deleted }])
    }
    await warehouse.close()
  }))
