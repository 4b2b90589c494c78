/**
 * A row that does not parse is a gap of its own: all others are mirrored, and nothing that fails is
 * asked for again and again.
 */
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne, sampled, sampledTest } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne()

const lists = { conversations: 2, visitors: 2, calls: 0, days: 3, activityPerVisitor: 0 } as const
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
      sampledTest(
        (place === 0) === (name === 'messages, oldest first') &&
          (by === 'quote') === (stream === 'calls'),
        `a row of ${name} is missing alone: ${by}, ${place === 0 ? 'the first' : 'amid'}`,
        async () => {
          const rows =
            stream === 'messages' ? size : { ...lists, [stream]: 250, messagesPerConversation: 1 }
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
        },
      )

/** Open conversations, the one with the oldest last message first. */
function openConversations(sandbox: Sandbox): readonly { id: string }[] {
  const rows = [...sandbox.truth('conversations')].map(
    ({ row }) => row as { id: string; handledAt: string | null; lastMessageAt: string },
  )
  return rows
    .filter(({ handledAt }) => handledAt === null)
    .sort((a, b) => a.lastMessageAt.localeCompare(b.lastMessageAt))
}

const places: Record<string, (open: number) => readonly number[]> = {
  'the oldest': () => [0],
  'the second': () => [1],
  'amid others': (open) => [Math.floor(open / 2)],
  'the newest': (open) => [open - 1],
  'two of them': (open) => [Math.floor(open / 4), Math.floor(open / 2)],
}

for (const db of databases)
  for (const [place, indexesOf] of sampled(
    Object.entries(places),
    ([place]) => !/second|newest|oldest/.test(place),
  ))
    for (const hasMore of place === 'amid others'
      ? sampled(['exact', 'absent'] as const, (kind) => kind === 'absent')
      : (['exact'] as const))
      testOnOne(
        db.name,
        `an open conversation that does not parse is one gap, and is passed in few requests: ${place}, hasMore ${hasMore} — ${db.name}`,
        async () => {
          const options = {
            seed: 5,
            speed: 0,
            db,
            // More than are listed whole in each sync.
            size: { ...lists, conversations: 240, days: 60, messagesPerConversation: 1 },
            switches: { hasMore, 'rows.brokenBy': 'brace' },
            streams: ['conversations'],
          } as const
          await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
            const open = openConversations(sandbox)
            const broken = indexesOf(open.length).map((index) => open[index]!.id)
            sandbox.setSwitches({ 'rows.broken': broken.map((id) => `"id":"${id}"`).join() })
            expect(await sync()).toMatchObject({ outcome: 'gaps', gaps: broken.map(() => ({})) })
            for (const _ of ['idle', 'idle again']) {
              const before = sandbox.log().length
              expect((await sync()).gaps).toHaveLength(broken.length)
              // Two for the conversations, the question whether they end, and what each row costs.
              const ends = hasMore === 'absent' ? 2 : 0
              const most = 2 + ends + 9 * broken.length
              expect(sandbox.log().length - before).toBeLessThanOrEqual(most)
            }
            expect((await sync({ mode: 'reconcile' })).gaps).toHaveLength(broken.length)
            const missing = await findDifferences(warehouse, sandbox, undefined, ['conversations'])
            expect(missing.map(({ key }) => key).sort()).toEqual([...broken].sort())
            sandbox.setSwitches({ 'rows.broken': '' })
            expect(await sync({ mode: 'reconcile' })).toMatchObject({
              outcome: 'complete',
              gaps: [],
            })
            expect(await findDifferences(warehouse, sandbox, undefined, ['conversations'])).toEqual(
              [],
            )
          })
        },
      )

for (const db of databases)
  testOnOne(
    db.name,
    `a mirrored conversation that no longer parses is a gap, and fails nothing — ${db.name}`,
    async () => {
      const options = {
        seed: 5,
        speed: 0,
        db,
        size: { ...lists, conversations: 8, days: 8, messagesPerConversation: 1 },
        switches: { 'rows.brokenBy': 'brace' },
        streams: ['conversations', 'messages'],
      } as const
      await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
        expect(await sync()).toMatchObject({ outcome: 'complete' })
        const [broken] = openConversations(sandbox)
        sandbox.setSwitches({ 'rows.broken': `"id":"${broken!.id}"` })
        sandbox.mutate.visitorWrites(broken!.id)
        for (const mode of ['incremental', 'incremental', 'reconcile'] as const)
          expect(await sync({ mode })).toMatchObject({ outcome: 'gaps', gaps: [{}] })
        // Its new message is there, although its row does not show it.
        expect(await findDifferences(warehouse, sandbox, undefined, ['messages'])).toEqual([])
        sandbox.setSwitches({ 'rows.broken': '' })
        expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete', gaps: [] })
      })
    },
  )
