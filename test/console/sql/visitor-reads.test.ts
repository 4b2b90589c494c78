/** What the page of a visitor reads, and the lists of what is open and of waits, on each database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Warehouse } from '../../../src/app/open.ts'
import {
  countOpen,
  type OpenFilter,
  openOrders,
  readOpen,
} from '../../../src/console/sql/open-conversations.ts'
import {
  readShownEffects,
  readVisitor,
  readVisitorCalls,
  readVisitorOf,
} from '../../../src/console/sql/visitor.ts'
import { readWaits, type WaitFilter } from '../../../src/console/sql/waits.ts'
import { readAllPages } from '../../../src/console/table-file.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import type { ProjectDb } from '../../../src/warehouse/project-db.ts'
import { databases } from '../../support/databases.ts'
import {
  activity,
  call,
  conversation,
  idOf,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { flagOn, queueDrafts, replyTo } from '../queued-rows.ts'
import { openFilledMirror } from './filled-mirror.ts'

const now = Date.parse(timeAt(100_000))
const [first, second, fourth] = [idOf(1), idOf(2), idOf(4)]
const asks = (id: string, at: number, n = 1) =>
  message(id, n, { sender_type: 'visitor', created_at: timeAt(at) })
const says = (id: string, at: number, n: number, content = 'It is on its way.') =>
  message(id, n, { created_at: timeAt(at), content })

/** Asked at that second; the last one is handled, and the visitor thanks. */
const conversations = [
  conversation(first, { visitor_id: 'v1', created_at: timeAt(10), assigned_agent_id: 'a1' }),
  conversation(second, { visitor_id: 'v1', created_at: timeAt(20), origin: 'email' }),
  conversation('c3', { visitor_id: 'unmirrored', created_at: timeAt(90_000) }),
  conversation(fourth, { visitor_id: 'v2', created_at: timeAt(20), origin: 'email' }),
  conversation('thanks', { created_at: timeAt(30), handled_at: timeAt(500) }),
]
const messages = [
  ...[asks(first, 100), says(first, 400, 2), says(first, 401, 3, 'Anything else?')],
  ...[asks(second, 200), says(second, 900, 2), says(second, 901, 3, ' It is on its way. ')],
  ...[asks('c3', 90_000), asks(fourth, 200)],
  ...[asks('thanks', 40), says('thanks', 50, 2), asks('thanks', 600, 3)],
]
const whatever: OpenFilter = {
  minAgeMs: 0,
  isWaiting: null,
  agent: null,
  origin: null,
  order: 'age',
}
const january: WaitFilter = { from: '2026-01-01', to: '2026-01-31', agent: null, ended: null }

for (const db of databases) {
  describe(db.name, () => {
    let warehouse: Warehouse
    let reads: ProjectDb
    let drop = async () => {}
    beforeAll(async () => {
      const filled = await openFilledMirror(db, {
        visitors: [
          visitor('v1', { plan: 'gold' }),
          visitor('v2', {}, { name: null, email: 'v2@example.com' }),
        ],
        conversations,
        messages,
        visitor_activity: [activity('v1', 'h', 0, { url: '/cart' })],
        calls: [call('k1', {}, { visitorId: 'v1', status: 'missed' }), call('k2')],
      })
      ;({ warehouse, reads, drop } = filled)
      await filled.refresh()
    })
    afterAll(() => drop())

    const openIds = async (over: Partial<OpenFilter> = {}) =>
      (await readOpen(reads, { ...whatever, ...over }, null, now)).rows.map(({ id }) => id)
    const allPages = async <Row>(...of: Parameters<typeof readAllPages<Row>>) =>
      (await Array.fromAsync(readAllPages(...of))).flat()

    test('what is open is chosen by age, waiting, agent and origin, and counted by them', async () => {
      expect(await openIds()).toEqual([first, second, fourth, 'c3'])
      expect(await openIds({ minAgeMs: 86_400_000 })).toEqual([first, second, fourth])
      expect(await openIds({ isWaiting: true })).toEqual([fourth, 'c3'])
      expect(await openIds({ isWaiting: false })).toEqual([first, second])
      expect(await openIds({ agent: 'a1' })).toEqual([first])
      expect(await openIds({ agent: '' })).toEqual([second, fourth, 'c3'])
      expect(await openIds({ origin: 'email', isWaiting: true })).toEqual([fourth])
      expect(await openIds({ order: 'wait' })).toEqual([fourth, 'c3', first, second])
      expect(await openIds({ order: 'silence' })).toEqual([fourth, first, second, 'c3'])
      const { groups } = await countOpen(reads, now)
      const waiting = groups.filter(({ isWaiting }) => isWaiting)
      expect(waiting.map(({ origin, counts }) => [origin, counts]).toSorted()).toEqual([
        ['email', [1, 1, 1, 0]],
        ['visitor_initiated', [1, 1, 0, 0]],
      ])
    })

    test.each(Object.keys(openOrders) as OpenFilter['order'][])(
      'pages of what is open, by %s, have each conversation once',
      async (order) => {
        const pages = await allPages((after) =>
          readOpen(reads, { ...whatever, order }, after, now, 1),
        )
        expect(pages.map(({ id }) => id)).toEqual(await openIds({ order }))
      },
    )

    test('waits are listed the longest first, answered or not, on pages that have each once', async () => {
      const { rows, total } = await readWaits(reads, january, null, now)
      expect(rows.map(({ id, seconds, endedBy, name }) => [id, seconds, endedBy, name])).toEqual([
        [fourth, 99_800, 'nobody', null],
        ['c3', 10_000, 'nobody', null],
        [second, 700, 'human', 'Bo'],
        [first, 300, 'human', 'Bo'],
        // Not that of the thanks, after which nothing was open.
        ['thanks', 10, 'human', null],
      ])
      expect(total).toBe(5)
      // What goes on stays as long as it was on the first page.
      const pages = await allPages((after) =>
        readWaits(reads, january, after, after === null ? now : now + 1e8, 1),
      )
      expect(pages.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
      const ids = async (over: Partial<WaitFilter>) =>
        (await readWaits(reads, { ...january, ...over }, null, now)).rows.map(({ id }) => id)
      expect(await ids({ ended: 'nobody' })).toEqual([fourth, 'c3'])
      expect(await ids({ agent: 'Ann' })).toEqual([second, first, 'thanks'])
      // Also those that began before these days and went on in them, and none that began after.
      expect(await ids({ from: '2026-01-02' })).toEqual([fourth, 'c3'])
      expect(await ids({ to: '2026-01-01' })).toEqual([fourth, second, first, 'thanks'])
      expect(await ids({ from: '2025-12-01', to: '2025-12-31' })).toEqual([])
    })

    test('a question that the service dates ahead of this machine has waited for no time, not for less', async () => {
      const early = Date.parse(timeAt(150))
      const { rows } = await readWaits(reads, january, null, early)
      expect(rows.map(({ id, seconds }) => [id, seconds])).toEqual([
        [second, 700],
        [first, 300],
        ['thanks', 10],
        [fourth, 0],
        ['c3', 0],
      ])
      const pages = await allPages((after) => readWaits(reads, january, after, early, 1))
      expect(pages.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
    })

    test('a visitor has conversations, calls and visits, also if the mirror has no row', async () => {
      const found = await readVisitor(reads, 'v1')
      expect(found.row).toMatchObject({ name: 'Bo', email: null, deletedAt: null })
      expect(found.conversationIds.toSorted()).toEqual([first, second])
      // Its time is not said twice.
      expect(found.activity).toEqual([
        { at: timeAt(3), text: expect.not.stringContaining(timeAt(3)) },
      ])
      expect(found.visits).toMatchObject([{ startedAt: timeAt(3), entries: 1 }])
      expect(await readVisitorCalls(reads, 'v1')).toMatchObject([{ id: 'k1', outcome: 'missed' }])
      const unmirrored = await readVisitor(reads, 'unmirrored')
      expect([unmirrored.row, unmirrored.conversationIds]).toEqual([null, ['c3']])
      expect(await readVisitorOf(reads, 'c3')).toBe('unmirrored')
    })

    test('write-backs to a visitor and to all conversations are found, with what the mirror shows of them', async () => {
      const outbox = createOutbox(reads)
      const replies = [first, second, fourth].map((target) => replyTo(target, 'It is on its way.'))
      await queueDrafts(warehouse, 'to-visitors', [...replies, flagOn(first)])
      await warehouse.query(`update writebacks set message_id = '2' where conversation_id = '${first}'
        and operation = 'message'`)
      const { conversationIds } = await readVisitor(reads, 'v1')
      const entries = await outbox.listNewest({ target: ['v1', ...conversationIds] }, 10)
      expect(entries.map(({ conversationId }) => conversationId)).toEqual([first, second, first])
      const named = await outbox.nameEntries(await outbox.list({}, 3))
      expect(named.map(({ visitorName }) => visitorName)).toEqual(['Bo', 'Bo', 'v2@example.com'])
      const effects = await readShownEffects(reads, entries)
      const [ofFlag, ofSecond, ofFirst] = entries.map(({ id }) => effects.get(id))
      expect(ofFirst).toEqual({ at: timeAt(400), isDeleted: false, handled: null, times: 1 })
      // Another one has these words between blanks, and is another text.
      expect(ofSecond).toMatchObject({ at: null, times: 1 })
      expect(ofFlag).toMatchObject({ handled: null, times: 0 })
      const [newest] = entries
      const older = await outbox.listNewest({ target: conversationIds }, 10, newest?.seq)
      expect(older).toEqual(entries.slice(1))
      // Each was in doubt, and a person has it sent again: before that, the second was found.
      const steps = ['queued', 'sending', 'uncertain', 'failed', 'queued']
      const fates = {
        [first]: [...steps, 'sending', 'succeeded'],
        [second]: [...steps, 'succeeded'],
      }
      for (const [target, statuses] of Object.entries(fates))
        for (const status of statuses)
          await warehouse.query(`update writebacks set status = '${status}'
            where operation = 'message' and conversation_id = '${target}'`)
      const doubtful = await outbox.listInDoubt(entries.map(({ id }) => id))
      expect(entries.map(({ id }) => doubtful.has(id))).toEqual([false, false, true])
    })
  })
}
