/** A 403 whose code is not documented concerns the row that was requested; the others go on. */
import { expect, test } from 'vitest'
import { unexplainedDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const size = {
  conversations: 40,
  visitors: 10,
  calls: 5,
  days: 2,
  messagesPerConversation: 2,
} as const

test('messages of a conversation that are answered 403 are a gap, and all others are read', async () => {
  const switches = { 'messages.forbidden': 0.2 } as const
  await withSandbox({ seed: 4, size, switches }, async ({ sandbox, warehouse, sync }) => {
    const { outcome, gaps, streams } = await sync()
    expect(outcome).toBe('gaps')
    expect(gaps.length).toBeGreaterThan(1)
    expect(gaps.length).toBeLessThan(20)
    for (const { stream, reason } of gaps)
      expect([stream, reason]).toEqual([
        'messages',
        expect.stringContaining('403 conversation_restricted'),
      ])
    expect(streams.find(({ stream }) => stream === 'messages')).toMatchObject({
      // One is read once more, to learn whether `hasMore` is set at all.
      rows: 2 * (40 - gaps.length) + 1,
      failed: null,
    })
    expect(
      await unexplainedDifferences(warehouse, sandbox, ['conversations', 'visitors', 'calls']),
    ).toEqual([])
    // Where nothing but such lists is due, their gaps say what is missing.
    await warehouse.query(`update sync_children set due_at = case when attempts > 0 then 0 end`)
    expect(await sync()).toMatchObject({ outcome: 'gaps', gaps: { length: gaps.length } })
    sandbox.setSwitches({ 'messages.forbidden': 0 })
    expect(await sync({ mode: 'full' })).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await unexplainedDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('if every conversation is answered so, that is said once, and the other streams go on', async () => {
  const switches = { 'messages.forbidden': 1 } as const
  await withSandbox({ seed: 4, size, switches }, async ({ warehouse, sandbox, sync }) => {
    const { outcome, streams } = await sync()
    expect(outcome).toBe('failed')
    expect(streams.flatMap(({ failed }) => failed ?? [])).toEqual([
      expect.stringMatching(
        /^the service refused all 40 lists that were requested: .*403 conversation_restricted/,
      ),
    ])
    expect(
      await unexplainedDifferences(warehouse, sandbox, ['conversations', 'visitors', 'calls']),
    ).toEqual([])
  })
})

test('many lists that were refused before keep none from being read behind them', async () => {
  const many = { ...size, conversations: 440, visitors: 1, calls: 0, messagesPerConversation: 1 }
  const options = { seed: 4, size: many, switches: { 'messages.forbidden': 0.97 } } as const
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const streams = ['conversations', 'messages'] as const
    const { gaps } = await sync({ streams })
    expect(gaps.length).toBeGreaterThan(401)
    const readable = await warehouse.query(
      'select parent_id as id from sync_children where attempts = 0 and read_version > 0',
    )
    expect(readable.length).toBeGreaterThan(1)
    await warehouse.query('update sync_children set due_at = 0 where attempts > 0')
    await warehouse.query(
      'update sync_children set due_at = 1, reread_whole = 1 where attempts = 0',
    )
    sandbox.resetLog()
    expect(await sync({ streams })).toMatchObject({ outcome: 'gaps' })
    const requested = sandbox.log().map(({ path }) => path)
    for (const { id } of readable)
      expect(requested).toContain(`/public/conversations/${id}/messages`)
  })
})
