/** A row that is read by its id, and the list's copy of it; pages that lead nowhere; pages that run both ways. */
import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { databases } from '../support/databases.ts'
import { findDifferences, syncOnce } from './sync-sandbox.ts'

const [sqlite] = databases

type Work = (url: string, sandbox: Sandbox, warehouse: Warehouse) => Promise<void>

async function withSandbox(switches: Partial<Switches>, work: Work, over: object = {}): Promise<void> {
  const place = await sqlite!.make()
  const size = { conversations: 30, visitors: 10, calls: 10, days: 2, messagesPerConversation: [1, 3] } as const
  const sandbox = await startSandbox({
    seed: 3,
    speed: 0,
    size: { ...size, ...over },
    switches: { 'rate.kind': 'off', ...switches },
  })
  try {
    await work(place.url!, sandbox, await place.open())
  } finally {
    await sandbox.stop()
    await place.drop()
  }
}

for (const shape of ['more', 'fewer'] as const) {
  test(`a conversation that is read by its id is not changed back by the list, where the one shows ${shape} than the other`, async () => {
    await withSandbox({ 'single.shape': shape }, async (url, sandbox, warehouse) => {
      await syncOnce(url, sandbox)
      const open = [...sandbox.truth('conversations')].filter(
        ({ row }) => (row as { handledAt: unknown }).handledAt === null,
      )
      for (const { id } of open.slice(0, 3)) sandbox.mutate.setHandled(id!, true)
      const conversations = async () =>
        (await syncOnce(url, sandbox)).streams.find(({ stream }) => stream === 'conversations')!
      expect((await conversations()).changed).toBe(3)
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
      expect((await conversations()).changed).toBe(0)
      await syncOnce(url, sandbox, { mode: 'reconcile' })
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
    })
  })
}

test('empty pages that always have more behind them are a gap, and end', async () => {
  await withSandbox(
    { 'pages.hollow': true },
    async (url, sandbox) => {
      const { gaps } = await syncOnce(url, sandbox, { streams: ['conversations'] })
      expect(gaps).toMatchObject([{ reason: 'the service says that there is more, and shows none of it' }])
      expect(sandbox.log().length).toBeLessThan(10)
    },
    { conversations: 230 },
  )
})

test('that pages run both ways is said once, and no more', async () => {
  const odd = { 'messages.order': 'oldest-bounded', 'messages.limit': 'ignored', 'messages.paging': 'since' } as const
  await withSandbox(
    odd,
    async (url, sandbox, warehouse) => {
      const id = [...sandbox.truth('conversations')][0]!.id!
      const said = []
      for (const mode of [
        'incremental',
        'incremental',
        'incremental',
        'reconcile',
        'incremental',
        'reconcile',
      ] as const) {
        const { notices } = await syncOnce(url, sandbox, { mode })
        said.push(...notices.filter((notice) => notice.includes('messages.order')))
        sandbox.advance(700_000)
        for (let n = 0; n < 12; n += 1) {
          sandbox.advance(1000)
          sandbox.mutate.visitorWrites(id)
        }
      }
      expect(said.length).toBe(1)
      const behaviour = "select value from service_behaviours where name = 'messages.order'"
      expect(await warehouse.query(behaviour)).toEqual([{ value: 'both ways by createdAt' }])
    },
    { conversations: 2, messagesPerConversation: 60 },
  )
})
