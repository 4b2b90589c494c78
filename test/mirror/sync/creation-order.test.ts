/**
 * A list of conversations that is ordered by their creation does not move when a message arrives.
 */
import { expect, test } from 'vitest'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const children = { messagesPerConversation: [1, 2], activityPerVisitor: 0 } as const
const size = { ...children, conversations: 60, visitors: 5, calls: 0, days: 20 } as const
const switches = { 'conversations.since': 'createdAt' } as const

test('a message in a handled conversation that stays handled is found by the next incremental sync', async () => {
  await withSandbox({ seed: 3, size, switches }, async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.advance(3_600_000)
    const handled = [...sandbox.truth('conversations')].filter(
      ({ row }) => (row as { handledAt: unknown }).handledAt,
    )
    for (const { id } of handled.slice(0, 3)) {
      sandbox.mutate.visitorWrites(id!)
      sandbox.mutate.setHandled(id!, true)
    }
    for (let run = 0; run < 2; run++) expect((await sync()).outcome).toBe('complete')
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('a visitor who comes back, in a list of visitors that is ordered by creation, is found by the next incremental sync', async () => {
  const visits = { ...size, conversations: 5, visitors: 60, activityPerVisitor: 2 }
  await withSandbox(
    { seed: 3, size: visits, switches: { 'visitors.since': 'createdAt' } },
    async (context) => {
      const { sandbox, warehouse, sync } = context
      await sync()
      sandbox.advance(3_600_000)
      for (const { id } of [...sandbox.truth('visitors')].slice(0, 3)) {
        sandbox.mutate.addActivity(id!)
        sandbox.mutate.renameVisitor(id!, 'Grace', null)
      }
      for (let run = 0; run < 2; run++) expect((await sync()).outcome).toBe('complete')
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
    },
  )
})
