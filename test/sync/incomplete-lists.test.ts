/** What a list would not show stays stated, whatever is read of it afterwards, until it has been read whole. */
import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { databases } from '../support/databases.ts'
import { findDifferences, syncOnce, unexplainedDifferences } from './sync-sandbox.ts'

const [sqlite] = databases

type Work = (url: string, sandbox: Sandbox, warehouse: Warehouse, conversation: string) => Promise<void>

/** One conversation of 60 messages, and a service that cannot be brought to show them all. */
async function withHiddenMessages(switches: Partial<Switches>, work: Work): Promise<void> {
  const place = await sqlite!.make()
  const size = { conversations: 1, visitors: 1, calls: 0, days: 1, activityPerVisitor: [0, 0] } as const
  const sandbox = await startSandbox({
    seed: 1,
    speed: 0,
    size: { ...size, messagesPerConversation: [60, 60] },
    switches: { 'rate.kind': 'off', 'messages.paging': 'since', 'messages.limit': 'ignored', ...switches },
  })
  try {
    await work(place.url!, sandbox, await place.open(), [...sandbox.truth('conversations')][0]!.id!)
  } finally {
    await sandbox.stop()
    await place.drop()
  }
}

const services: Record<string, Partial<Switches>> = {
  'shows only the newest 50': { 'messages.order': 'newest' },
  'shows only the newest 50, and always says that there is more': { 'messages.order': 'newest', hasMore: 'always' },
  'cannot page through a crowded second': { 'messages.order': 'oldest', 'storm.messages': 55 },
}

for (const [name, switches] of Object.entries(services)) {
  test(`a new message in a conversation does not make its missing ones forgotten: a service that ${name}`, async () => {
    await withHiddenMessages(switches, async (url, sandbox, warehouse, conversation) => {
      for (const mode of ['incremental', 'incremental', 'reconcile'] as const) {
        expect(await syncOnce(url, sandbox, { mode })).toMatchObject({
          outcome: 'gaps',
          gaps: [{ stream: 'messages' }],
        })
        expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
        sandbox.advance(60_000)
        sandbox.mutate.visitorWrites(conversation)
      }
    })
  })
}

test('a conversation whose messages can all be read again is no gap any more after a reconcile', async () => {
  await withHiddenMessages({ 'messages.order': 'newest' }, async (url, sandbox, warehouse) => {
    await syncOnce(url, sandbox)
    sandbox.setSwitches({ 'messages.limit': 'honoured' })
    expect(await syncOnce(url, sandbox, { mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await warehouse.query('select messages_complete as whole from conversations')).toEqual([{ whole: 1 }])
  })
})

for (const header of ['ahead', 'jumping', 'absent'] as const) {
  test(`rows that are written while one reads prove nothing of the others, whatever the clock of the answers: ${header}`, async () => {
    const busy = { 'move.every': 1, 'move.kinds': 'visitorWrites', 'messages.order': 'newest-ascending' } as const
    await withHiddenMessages({ ...busy, 'date.header': header }, async (url, sandbox, warehouse) => {
      expect(await syncOnce(url, sandbox)).toMatchObject({ outcome: 'gaps', gaps: [{ stream: 'messages' }] })
      sandbox.setSwitches({ 'move.every': 0 })
      sandbox.advance(60_000)
      await syncOnce(url, sandbox)
      expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
    })
  })
}

test('messages that come newest first, and oldest first where a bound is given, are mirrored whole', async () => {
  await withHiddenMessages({ 'messages.order': 'oldest-bounded' }, async (url, sandbox, warehouse) => {
    expect(await syncOnce(url, sandbox)).toMatchObject({ outcome: 'complete' })
    sandbox.advance(60_000)
    sandbox.applyRandomMutations(5, 1, ['visitorWrites', 'addConversation'])
    for (const mode of ['incremental', 'reconcile'] as const) {
      expect(await syncOnce(url, sandbox, { mode })).toMatchObject({ outcome: 'complete', gaps: [] })
      expect((await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages')).toEqual([])
    }
  })
})

for (const order of ['newest', 'newest-ascending', 'newest-bounded'] as const) {
  test(`a list whose pages \`since\` does not lead through is a gap, not the newest page: ${order}`, async () => {
    const size = { conversations: 230, visitors: 230, calls: 0, days: 1, messagesPerConversation: 1 } as const
    const place = await sqlite!.make()
    const switches = { 'rate.kind': 'off', 'conversations.order': order, 'visitors.order': order } as const
    const sandbox = await startSandbox({
      seed: 1,
      size,
      switches: { ...switches, 'date.header': 'ahead', 'move.every': 1 },
    })
    try {
      for (const mode of ['incremental', 'reconcile'] as const) {
        const { gaps } = await syncOnce(place.url!, sandbox, { mode, streams: ['conversations', 'visitors'] })
        expect(gaps.map(({ stream }) => stream).sort()).toEqual(['conversations', 'visitors'])
      }
    } finally {
      await sandbox.stop()
      await place.drop()
    }
  })
}

for (const header of ['right', 'ahead', 'absent'] as const) {
  test(`a message that comes within the second in which its conversation was read is not missed, whatever the clock of the answers: ${header}`, async () => {
    await withHiddenMessages(
      { 'messages.limit': 'honoured', 'date.header': header },
      async (url, sandbox, warehouse, conversation) => {
        const due = async () => Number((await warehouse.query('select count(due_at) as n from sync_children'))[0]!.n)
        sandbox.mutate.visitorWrites(conversation, 'Hello?')
        await syncOnce(url, sandbox, { streams: ['conversations', 'messages'] })
        sandbox.mutate.visitorWrites(conversation, 'Is anybody there?')
        expect(await due()).toBe(1)
        await warehouse.query(
          'update sync_children set due_at = 0, checked_at = checked_at - 5000 where due_at is not null',
        )
        // Nothing is late any more: this is the last time that it is read without a reason.
        sandbox.advance(605_000)
        await syncOnce(url, sandbox, { streams: ['conversations', 'messages'] })
        expect((await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages')).toEqual([])
        expect(await due()).toBe(0)
      },
    )
  })
}

test('a full sync reads whole what waits already, and what was put off', async () => {
  await withHiddenMessages({ 'messages.limit': 'honoured' }, async (url, sandbox, warehouse, conversation) => {
    await syncOnce(url, sandbox)
    for (const due of [0, Date.now() + 3_600_000]) {
      await warehouse.query(`update sync_children set due_at = ${due}, attempts = 5 where stream = 'messages'`)
      // Nothing but a whole reading can show it.
      sandbox.mutate.editMessage(conversation, 0, `As of ${due}`)
      await syncOnce(url, sandbox, { mode: 'full' })
      expect((await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages')).toEqual([])
    }
  })
})
