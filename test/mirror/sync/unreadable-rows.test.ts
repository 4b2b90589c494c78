/**
 * A row that does not parse is a gap of its own: all others are mirrored, and nothing that fails is
 * asked for again and again.
 */
import { expect, test } from 'vitest'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 3, visitors: 2, calls: 0, days: 3, activityPerVisitor: 0 } as const
const size = { ...lists, messagesPerConversation: [230, 230] } as const

type Case = { readonly stream: 'messages' | 'calls'; readonly switches: Partial<Switches> }

const cases: Record<string, Case> = {
  'messages, newest first': {
    stream: 'messages',
    switches: { 'messages.paging': 'before', 'messages.order': 'newest' },
  },
  'messages, oldest first': { stream: 'messages', switches: { 'messages.paging': 'since' } },
  'calls, newest first': { stream: 'calls', switches: { 'calls.order': 'newest' } },
}

for (const by of ['encoding', 'quote'] as const)
  for (const [name, { stream, switches }] of Object.entries(cases))
    for (const place of by === 'quote' && stream === 'messages' ? [] : [0, 0.4])
      test(`a row of ${name} is missing alone: ${by}, ${place === 0 ? 'the first' : 'amid'}`, async () => {
        const rows =
          stream === 'messages' ? size : { ...lists, [stream]: 450, messagesPerConversation: 1 }
        const options = {
          seed: 3,
          speed: 0,
          size: rows,
          switches,
          streams: ['conversations', stream],
        } as const
        await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
          const all = [...sandbox.truth(stream)]
          const ofParent = all.filter(({ parentId }) => parentId === all[0]!.parentId)
          const broken = ofParent[Math.floor((ofParent.length - 1) * place)]!
          const id = String((broken.row as { id: unknown }).id)
          sandbox.setSwitches({
            'rows.broken': `"id":${stream === 'messages' ? `${id},` : `"${id}"`}`,
            'rows.brokenBy': by,
          })
          expect(await sync()).toMatchObject({ outcome: 'gaps' })
          const missing = await findDifferences(warehouse, sandbox, undefined, [stream])
          expect(missing.map(({ key }) => key.split('/').at(-1))).toEqual([id])
          const counts = Map.groupBy(sandbox.log(), ({ path, query }) => `${path}?${query}`)
          // An answer that does not parse is asked for once more, as it may come out right; a page
          // may be read twice.
          expect(
            Math.max(...counts.values().map((requests) => requests.length)),
          ).toBeLessThanOrEqual(4)
          expect(sandbox.log().length).toBeLessThanOrEqual(170)
          sandbox.setSwitches({ 'rows.broken': '' })
          await sync({ mode: 'reconcile' })
          expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
          expect(await findDifferences(warehouse, sandbox, undefined, [stream])).toEqual([])
        })
      })
