/**
 * Pages that are larger than any that is read: fewer rows are asked for, and nothing that fails is
 * asked for unchanged.
 */
import { expect, test } from 'vitest'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

test('messages of a quarter of a megabyte each are read in smaller pages', async () => {
  const size = {
    conversations: 1,
    visitors: 1,
    calls: 0,
    days: 1,
    // More than the 40 MB of an answer that is read.
    messagesPerConversation: [180, 180],
  } as const
  const switches = {
    'messages.kilobytes': 256,
    'messages.paging': 'before',
    'messages.order': 'newest',
  } as const
  const options = { seed: 1, speed: 0, size: { ...size, activityPerVisitor: 0 }, switches } as const
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const streams = ['conversations', 'messages'] as const
    expect(await sync({ streams })).toMatchObject({ outcome: 'complete', gaps: [] })
    const asked = sandbox.log().filter(({ path }) => path.endsWith('/messages'))
    expect(asked.length).toBeLessThanOrEqual(16)
    const [first] = asked
    const unchanged = asked.filter(
      ({ path, query }) => path === first!.path && query === first!.query,
    )
    expect(unchanged.length).toBe(1)
    expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
  })
})
