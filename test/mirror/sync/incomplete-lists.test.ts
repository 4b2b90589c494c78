/**
 * Rows that a list does not show stay reported as missing until the list has been read completely.
 */
import { describe, expect, test } from 'vitest'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { sampled } from '../../support/sampled.ts'
import { findDifferences, unexplainedDifferences, verifyOnce } from './sync-sandbox.ts'
import { type SandboxContext, withSandbox } from './with-sandbox.ts'

type Work = (context: SandboxContext, conversation: string) => Promise<void>

/**
 * One conversation of 60 messages, of which the service does not list all, depending on `switches`.
 */
async function withHiddenMessages(switches: Partial<Switches>, work: Work): Promise<void> {
  const size = {
    conversations: 1,
    visitors: 1,
    calls: 0,
    days: 1,
    activityPerVisitor: [0, 0],
  } as const
  const options = {
    seed: 1,
    speed: 0,
    size: { ...size, messagesPerConversation: [60, 60] },
    switches: { 'messages.paging': 'since', 'messages.limit': 'ignored', ...switches },
    streams: ['conversations', 'messages'],
  } as const
  await withSandbox(options, (context) =>
    work(context, [...context.sandbox.truth('conversations')][0]!.id!),
  )
}

const services: Record<string, Partial<Switches>> = {
  'shows only the newest 50': { 'messages.order': 'newest' },
  'shows only the newest 50, and always sets `hasMore`': {
    'messages.order': 'newest',
    hasMore: 'always',
  },
  'cannot page through a timestamp collision': { 'messages.order': 'oldest', 'storm.messages': 55 },
}

for (const [name, switches] of Object.entries(services)) {
  test(`a new message does not hide that others are missing: a service that ${name}`, async () => {
    await withHiddenMessages(switches, async ({ sandbox, warehouse, sync }, conversation) => {
      for (const mode of ['incremental', 'incremental', 'reconcile'] as const) {
        expect(await sync({ mode })).toMatchObject({
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

test('a page of messages that is smaller than usual, and that nothing continues, is not taken for all of them', async () => {
  const size = {
    conversations: 12,
    visitors: 1,
    calls: 0,
    days: 1,
    activityPerVisitor: [0, 0],
  } as const
  const paging = {
    'messages.paging': 'before',
    'messages.order': 'newest',
    'messages.limit': 'ignored',
  } as const
  const switches = { ...paging, 'messages.page': 10, 'storm.messages': 12 } as const
  const options = {
    seed: 1,
    speed: 0,
    size: { ...size, messagesPerConversation: [5, 40] },
    switches,
    streams: ['conversations', 'messages'],
  } as const
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    for (const mode of ['incremental', 'incremental', 'reconcile'] as const) {
      expect(await sync({ mode })).toMatchObject({ outcome: 'gaps' })
      expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
    }
  })
})

test('a reconcile asks again whether the list without `handled` leaves out conversations', async () => {
  const size = {
    conversations: 60,
    visitors: 1,
    calls: 0,
    days: 9,
    messagesPerConversation: 1,
    activityPerVisitor: 0,
  }
  const switches = { 'conversations.handled': 'open' } as const
  const streams = ['conversations'] as const
  const options = { seed: 1, speed: 0, size, switches, streams }
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const asksParts = async () => {
      sandbox.resetLog()
      await sync()
      expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
      return sandbox.log().some(({ query }) => query.includes('handled=true'))
    }
    await sync()
    await sync({ mode: 'reconcile' })
    expect(await asksParts()).toBe(true)
    sandbox.setSwitches({ 'conversations.handled': 'all' })
    await sync({ mode: 'reconcile' })
    expect(await asksParts()).toBe(false)
  })
})

test('calls without a time are a gap at each reconcile if the service lists calls only between two times', async () => {
  const size = { conversations: 0, visitors: 1, calls: 40, days: 9, activityPerVisitor: 0 }
  const switches = { 'undated.share': 0.5, 'undated.of': 'calls' } as const
  await withSandbox({ seed: 1, speed: 0, size, switches }, async ({ sandbox, warehouse, sync }) => {
    const streams = ['calls'] as const
    expect(await sync({ streams })).toMatchObject({ outcome: 'complete' })
    sandbox.setSwitches({ 'calls.range': 'required' })
    for (let n = 0; n < 2; n++) {
      const gaps = [
        {
          stream: 'calls',
          from: null,
          to: null,
          reason: expect.stringContaining('without a time'),
        },
      ]
      const notices = expect.arrayContaining([expect.stringContaining('only between two times')])
      expect(await sync({ mode: 'reconcile', streams })).toMatchObject({
        outcome: 'gaps',
        gaps,
        notices,
      })
    }
    expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
    sandbox.setSwitches({ 'calls.range': 'optional' })
    expect(await sync({ mode: 'reconcile', streams })).toMatchObject({
      outcome: 'complete',
      gaps: [],
    })
  })
})

test('a reconcile closes the gap of a conversation whose messages can all be read again', async () => {
  await withHiddenMessages({ 'messages.order': 'newest' }, async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.setSwitches({ 'messages.limit': 'honoured' })
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await warehouse.query('select messages_complete as whole from conversations')).toEqual([
      { whole: 1 },
    ])
  })
})

for (const header of sampled(['ahead', 'jumping', 'absent'] as const, (one) => one === 'ahead')) {
  test(`rows that are added during the read do not hide missing ones, whatever the clock of the responses: ${header}`, async () => {
    const busy = {
      'move.every': 1,
      'move.kinds': 'visitorWrites',
      'messages.order': 'newest-ascending',
    } as const
    await withHiddenMessages(
      { ...busy, 'date.header': header },
      async ({ sandbox, warehouse, sync }) => {
        expect(await sync()).toMatchObject({ outcome: 'gaps', gaps: [{ stream: 'messages' }] })
        sandbox.setSwitches({ 'move.every': 0 })
        sandbox.advance(60_000)
        await sync()
        expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
      },
    )
  })
}

test('messages that are newest first without a bound and oldest first with one are mirrored completely', async () => {
  await withHiddenMessages(
    { 'messages.order': 'oldest-bounded' },
    async ({ sandbox, warehouse, sync }) => {
      expect(await sync()).toMatchObject({ outcome: 'complete' })
      sandbox.advance(60_000)
      sandbox.applyRandomMutations(5, 1, ['visitorWrites', 'addConversation'])
      for (const mode of ['incremental', 'reconcile'] as const) {
        expect(await sync({ mode })).toMatchObject({ outcome: 'complete', gaps: [] })
        expect(
          (await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages'),
        ).toEqual([])
      }
    },
  )
})

for (const order of sampled(['newest', 'newest-ascending'] as const, (one) => one === 'newest')) {
  test(`if \`since\` does not page through a list, the rest is a gap: ${order}`, async () => {
    const size = {
      conversations: 230,
      visitors: 230,
      calls: 0,
      days: 1,
      messagesPerConversation: 1,
    } as const
    const switches = { 'conversations.order': order, 'visitors.order': order } as const
    const busy = { 'date.header': 'ahead', 'move.every': 1 } as const
    await withSandbox({ seed: 1, size, switches: { ...switches, ...busy } }, async ({ sync }) => {
      for (const mode of ['incremental', 'reconcile'] as const) {
        const { gaps } = await sync({ mode, streams: ['conversations', 'visitors'] })
        const streams = new Set(gaps.map(({ stream }) => stream))
        expect([...streams].sort()).toEqual(['conversations', 'visitors'])
      }
    })
  })
}

for (const header of sampled(['right', 'ahead', 'absent'] as const, (one) => one !== 'right')) {
  test(`a message in the same second as the last read is not missed, whatever the clock of the responses: ${header}`, async () => {
    const switches = { 'messages.limit': 'honoured', 'date.header': header } as const
    await withHiddenMessages(switches, async ({ sandbox, warehouse, sync }, conversation) => {
      const pending = 'select count(due_at) as n from sync_children'
      const countPending = async () => Number((await warehouse.query(pending))[0]!.n)
      sandbox.mutate.visitorWrites(conversation, 'Hello?')
      await sync({ streams: ['conversations', 'messages'] })
      sandbox.mutate.visitorWrites(conversation, 'Is anybody there?')
      expect(await countPending()).toBe(1)
      const isPending = 'where due_at is not null'
      await warehouse.query(
        `update sync_children set due_at = 0, checked_at = checked_at - 5000 ${isPending}`,
      )
      // After the look-back, the conversation is read once more without a change.
      sandbox.advance(605_000)
      await sync({ streams: ['conversations', 'messages'] })
      expect(
        (await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages'),
      ).toEqual([])
      expect(await countPending()).toBe(0)
    })
  })
}

test('a full sync rereads pending and postponed conversations completely', async () => {
  await withHiddenMessages(
    { 'messages.limit': 'honoured' },
    async ({ sandbox, warehouse, sync }, conversation) => {
      await sync()
      for (const due of [0, Date.now() + 3_600_000]) {
        await warehouse.query(
          `update sync_children set due_at = ${due}, attempts = 5 where stream = 'messages'`,
        )
        // Only a full read can show it.
        sandbox.mutate.editMessage(conversation, 0, `As of ${due}`)
        await sync({ mode: 'full' })
        expect(
          (await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'messages'),
        ).toEqual([])
      }
    },
  )
})

test('a list that ends before the last message that its conversation shows is not complete, however old that is', async () => {
  await withHiddenMessages(
    { 'messages.limit': 'honoured', 'late.of': 'messages' },
    async (context, conversation) => {
      const { sandbox, warehouse, sync } = context
      sandbox.advance(3 * 86_400_000)
      sandbox.mutate.visitorWrites(conversation)
      sandbox.advance(3_600_000)
      sandbox.setSwitches({ 'late.share': 1, 'late.seconds': 7200 })
      const reason = expect.stringContaining(
        'the time of the last message that the conversation shows',
      )
      for (const mode of ['incremental', 'incremental', 'reconcile'] as const)
        expect(await sync({ mode })).toMatchObject({
          outcome: 'gaps',
          gaps: [{ stream: 'messages', reason }],
        })
      expect(await warehouse.query('select messages_complete as whole from conversations')).toEqual(
        [{ whole: 0 }],
      )
      sandbox.setSwitches({ 'late.share': 0 })
      expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
      expect(await warehouse.query('select messages_complete as whole from conversations')).toEqual(
        [{ whole: 1 }],
      )
    },
  )
})

describe('visitors that no page shows are read where conversations name them', () => {
  const size = {
    conversations: 80,
    visitors: 80,
    calls: 0,
    days: 30,
    messagesPerConversation: 1,
    activityPerVisitor: 0,
  }
  const streams = ['conversations', 'visitors'] as const
  const undated = { 'undated.share': 0.1, 'undated.of': 'visitors', 'pages.size': 60 } as const
  const gap = { stream: 'visitors', reason: expect.stringContaining('does not list all visitors') }

  const countMissing = async (warehouse: SandboxContext['warehouse']) => {
    const [row] = await warehouse.query(`
      select count(*) as missing from conversations where visitor_id not in
        (select id from visitors where deleted_at is null)`)
    return Number(row?.missing)
  }

  for (const switches of [
    { 'visitors.order': 'oldest', 'undated.end': 'newest' },
    { 'visitors.order': 'oldest-bounded', 'undated.end': 'oldest' },
  ] as const)
    test(JSON.stringify(switches), async () => {
      const options = { seed: 1, speed: 0, size, streams, switches: { ...undated, ...switches } }
      await withSandbox(options, async ({ sandbox, warehouse, sync, url }) => {
        for (const mode of ['incremental', 'incremental', 'reconcile', 'reconcile'] as const) {
          expect(await sync({ mode })).toMatchObject({ outcome: 'gaps', gaps: [gap] })
          expect(await countMissing(warehouse)).toBe(0)
        }
        const verified = await verifyOnce(url, sandbox)
        expect(verified.streams.find(({ stream }) => stream === 'visitors')?.differing).toBe(0)
        sandbox.setSwitches({ 'undated.share': 0 })
        expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
        expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
      })
    })

  test('and a list that showed no time does not list all visitors either', async () => {
    const switches = {
      'undated.share': 1,
      'undated.of': 'visitors',
      'undated.times': 'all',
      'pages.most': 10,
      hasMore: 'absent',
    } as const
    const options = { seed: 1, speed: 0, size: { ...size, conversations: 60, visitors: 30 } }
    await withSandbox({ ...options, streams, switches }, async ({ sync }) => {
      for (const mode of ['incremental', 'reconcile'] as const)
        expect(await sync({ mode })).toMatchObject({ outcome: 'gaps', gaps: [gap] })
    })
  })

  test('and ids that are none, or are refused, hold up no other, and are not requested at each sync', async () => {
    const options = { seed: 1, speed: 0, size: { ...size, conversations: 120, visitors: 120 } }
    const switches = { ...undated, 'undated.share': 0.5, 'visitors.order': 'oldest' } as const
    const few = { 'pages.most': 20, 'refused.answer': 'restricted' } as const
    const all = { ...options, streams, switches: { ...switches, ...few } }
    await withSandbox(all, async ({ sandbox, warehouse, sync }) => {
      await sync({ streams: ['conversations'] })
      const isUndated = (row: unknown) => (row as { lastSeenAt: unknown }).lastSeenAt === null
      const hidden = [...sandbox.truth('visitors')].flatMap(({ id, row }) =>
        isUndated(row) ? id! : [],
      )
      const listNamed = async () => {
        const rows = await warehouse.query('select distinct visitor_id as id from conversations')
        const ids = rows.map(({ id }) => String(id))
        return ids.filter((id) => hidden.includes(id)).sort()
      }
      const [refused, ...others] = await listNamed()
      for (const [n, id] of others.slice(0, 4).entries())
        await warehouse.query(
          `update conversations set visitor_id = '${n} of the chat' where visitor_id = '${id}'`,
        )
      sandbox.setSwitches({ 'refused.paths': refused! })
      for (const requests of [1, 0]) {
        sandbox.resetLog()
        await sync({ streams: ['visitors'] })
        const ofRefused = sandbox.log().filter(({ path }) => path.endsWith(refused!))
        expect(ofRefused).toHaveLength(requests)
      }
      const mirrored = await warehouse.query('select id from visitors')
      const known = new Set(mirrored.map(({ id }) => String(id)))
      expect((await listNamed()).filter((id) => !known.has(id))).toEqual([refused])
    })
  })

  test('also those that were answered as if they were not there for a time', async () => {
    const switches = { ...undated, 'visitors.order': 'oldest', 'undated.end': 'newest' } as const
    const options = { seed: 1, speed: 0, size, streams, switches } as const
    await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
      sandbox.setSwitches({ 'missing.rows': 'ids' })
      expect(await sync()).toMatchObject({ outcome: 'complete' })
      sandbox.setSwitches({ 'missing.rows': 'none' })
      for (let n = 0; n < 2; n++)
        expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'gaps' })
      expect(await countMissing(warehouse)).toBe(0)
    })
  })

  test('also a few whom a passing fault hides, before they were ever read and after', async () => {
    const few = { ...undated, 'undated.share': 0.03, 'visitors.order': 'oldest' } as const
    const options = { seed: 1, speed: 0, size, streams, switches: few } as const
    await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
      const reconcile = () => sync({ mode: 'reconcile' })
      for (let n = 0; n < 2; n++) {
        sandbox.setSwitches({ 'missing.rows': 'ids' })
        expect(await (n === 0 ? sync() : reconcile())).toMatchObject({ outcome: 'complete' })
        expect(await countMissing(warehouse)).toBeGreaterThan(0)
        sandbox.setSwitches({ 'missing.rows': 'none' })
        for (let nights = 0; nights < 3; nights++) await reconcile()
        expect(await countMissing(warehouse)).toBe(0)
      }
    })
  })

  test('and ids that name none cost a few requests at each reconcile', async () => {
    const options = { seed: 1, speed: 0, size: { ...size, conversations: 60, visitors: 8 } }
    await withSandbox({ ...options, streams }, async ({ sandbox, sync }) => {
      for (const { id } of [...sandbox.truth('visitors')].slice(0, 5))
        sandbox.mutate.deleteVisitor(id!)
      const requested: string[] = []
      for (const mode of ['incremental', 'incremental', 'reconcile', 'reconcile'] as const) {
        sandbox.resetLog()
        expect(await sync({ mode })).toMatchObject({ outcome: 'complete' })
        const ids = sandbox.log().flatMap(({ path }) => path.match(/visitors\/([^/]+)$/)?.[1] ?? [])
        requested.push(`${mode} ${ids.length}`)
      }
      expect(requested).toEqual(['incremental 3', 'incremental 0', 'reconcile 2', 'reconcile 3'])
    })
  })
})
