/** A reconcile finds corrections of old rows, however busy their parents are. */
import { expect, test } from 'vitest'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

test('a reconcile finds corrected messages of conversations that have new ones each time', async () => {
  const size = {
    conversations: 4,
    visitors: 2,
    calls: 2,
    days: 20,
    messagesPerConversation: 260,
  } as const
  await withSandbox({ seed: 2, speed: 0, size }, async ({ sandbox, warehouse, sync }) => {
    const ids = [...sandbox.truth('conversations')].map(({ id }) => id!)
    await sync()
    for (const id of ids) sandbox.mutate.editMessage(id, 0, 'Something else.')
    sandbox.advance(3_600_000)
    for (const id of ids) sandbox.mutate.agentReplies(id)
    await sync({ mode: 'reconcile' })
    expect(await findDifferences(warehouse, sandbox, undefined, ['messages'])).toEqual([])
  })
})
