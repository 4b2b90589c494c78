/** A reconcile finds corrections of old rows, however busy their parents are. */
import { expect, test } from 'vitest'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

test('a reconcile finds a corrected message of a conversation that has new ones each time', async () => {
  const size = { conversations: 5, visitors: 5, calls: 2, days: 20, messagesPerConversation: 6 } as const
  await withSandbox({ seed: 2, speed: 0, size }, async ({ sandbox, warehouse, sync }) => {
    const id = [...sandbox.truth('conversations')][0]!.id!
    sandbox.advance(3_600_000)
    sandbox.mutate.agentReplies(id)
    await sync()
    sandbox.mutate.editMessage(id, 0, 'Something else.')
    sandbox.mutate.agentReplies(id)
    sandbox.advance(60_000)
    await sync({ mode: 'reconcile' })
    expect(await findDifferences(warehouse, sandbox, undefined, ['messages'])).toEqual([])
  })
})
