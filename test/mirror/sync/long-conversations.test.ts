/** A new message in a long conversation costs a request, whatever leads to the older ones. */
import { expect, test } from 'vitest'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const size = { conversations: 1, visitors: 1, calls: 0, days: 300, activityPerVisitor: 0 } as const
const streams = ['conversations', 'messages'] as const

const services: Record<string, Partial<Switches>> = {
  'newest first, `before`': { 'messages.paging': 'before', 'messages.order': 'newest' },
  'newest first, `before`, others refused': {
    'messages.paging': 'before',
    'messages.order': 'newest',
    'query.unknown': 'rejected',
  },
  'the last, oldest first, `before`': {
    'messages.paging': 'before',
    'messages.order': 'newest-ascending',
  },
  'newest first, `before`, pages of 50': {
    'messages.paging': 'before',
    'messages.order': 'newest',
    'messages.limit': 'ignored',
  },
  'oldest first, `since`': { 'messages.paging': 'since', 'messages.order': 'oldest' },
}

// Where only `since` leads on, the rows of the look-back come before the new ones.
for (const [name, switches] of Object.entries(services))
  for (const days of /since|pages of 50|refused/.test(name) ? [300] : [300, 0.005])
    test(`a new message in a conversation of 1,000 costs one request: ${name}, within ${days} days`, async () => {
      const long = { ...size, days, messagesPerConversation: [1000, 1000] } as const
      await withSandbox(
        { seed: 1, speed: 0, size: long, switches, streams },
        async ({ sandbox, warehouse, sync }) => {
          await sync()
          const [id] = [...sandbox.truth('conversations')].map((row) => row.id!)
          for (let n = 0; n < 3; n++) {
            sandbox.advance(60_000)
            sandbox.mutate.visitorWrites(id!)
            sandbox.resetLog()
            expect(await sync()).toMatchObject({ outcome: 'complete' })
            expect(await findDifferences(warehouse, sandbox, undefined, streams)).toEqual([])
            const asked = sandbox.log().filter(({ path }) => path.endsWith('/messages'))
            expect(asked.length).toBeLessThanOrEqual(2)
          }
        },
      )
    })
