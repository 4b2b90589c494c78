/**
 * What the pages for those who answer read, on each database: one mirror that all tests look at.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { readReportData } from '../../../src/analytics/sql/report-data.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { readConversation, readWaiting } from '../../../src/console/sql/conversations.ts'
import { readOverview } from '../../../src/console/sql/overview.ts'
import { replySheet } from '../../../src/console/sql/reply-sheet.ts'
import { search as searchMirror } from '../../../src/console/sql/search.ts'
import { readVisitor } from '../../../src/console/sql/visitor.ts'
import { noColumnRules } from '../../../src/values/private-columns.ts'
import type { ProjectDb } from '../../../src/warehouse/project-db.ts'
import { databases } from '../../support/databases.ts'
import {
  activity,
  commit,
  conversation,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { openFilledMirror, settings } from './filled-mirror.ts'

const now = Date.parse(timeAt(100_000))
const talkedAt = (id: string, second: number, columns = {}) =>
  conversation(id, { last_message_at: timeAt(second), ...columns })
/** The visitor wrote then. What the service says of it is another matter. */
const asks = (id: string, second: number) =>
  message(id, 0, { sender_type: 'visitor', created_at: timeAt(second), content: 'asked' })
const many = Array.from({ length: 530 }, (_, n) => `p${n}`)

const conversations = [
  talkedAt('c1', 6000, { visitor_id: 'v1', waiting_since: timeAt(6000) }),
  talkedAt('c2', 50, { waiting_since: timeAt(50) }),
  talkedAt('c3', 99_990, { assigned_agent_id: 'a1' }),
  talkedAt('c4', 10, { handled_at: timeAt(20) }),
  talkedAt('answered', 60, { waiting_since: timeAt(50) }),
  ...[
    talkedAt('thread', 5),
    talkedAt('old', 5),
    talkedAt('new', 9),
    talkedAt('other', 7),
    talkedAt('edited', 5),
  ],
  ...[talkedAt('long', 5), talkedAt('s1', 90), talkedAt('s2', 80, { visitor_id: 'v6' })],
  ...[talkedAt('3f2a9c10-a', 5), talkedAt('3f2a9c10-b', 5)],
  ...many.map((id) => talkedAt(id, 5)),
]
const messages = [
  ...[asks('c1', 5000), asks('c2', 50), asks('c3', 99_990), asks('c4', 10), asks('answered', 50)],
  message('c1', 2, { sender_type: 'visitor', created_at: timeAt(6000), content: 'last' }),
  message('answered', 2, { created_at: timeAt(60) }),
  message('c1', 3, { kind: 'event' }),
  ...Array.from({ length: 203 }, (_, n) => message('thread', n + 1, { content: `text ${n + 1}` })),
  message('thread', 300, { sender_type: 'visitor' }),
  message('thread', 301, { kind: 'assigned' }),
  message('old', 1, { content: 'Where is the ORDER from the Café?' }),
  message('new', 1, { content: 'my order', created_at: timeAt(9) }),
  message('new', 2, { content: '返金してください' }),
  message('new', 3, { content: `${'much '.repeat(1000)}latecomer` }),
  message('other', 1, { content: 'nothing', kind: 'event' }),
  message('edited', 1, { content: 'alpha' }),
  message('long', 1, { content: `${'word '.repeat(99)}needle${' word'.repeat(99)}` }),
  message('long', 2, { content: `${'字'.repeat(99)}退${'字'.repeat(199)}` }),
  message('s1', 1, { content: 'sorted', created_at: timeAt(30) }),
  message('s2', 1, { content: 'sorted', created_at: timeAt(40) }),
  ...many.map((id) => message(id, 1, { content: 'same', created_at: timeAt(5) })),
]
const visitors = [
  visitor('v1', { plan: 'gold', tags: ['a'] }, { name: 'Zoë' }),
  visitor('v2', {}, { name: 'Ada Lovelace', email: 'ada@example.com' }),
  visitor('v3', {}, { name: '100%_sure', email: null }),
  visitor('v4', {}, { name: 'Eve', email: 'visitor.1+86@example.org' }),
  visitor('3f2a9c11', {}, { name: 'Ines' }),
  visitor('v5', {}, { name: 'Mallory', email: 'visitor.12@example.org' }),
  visitor('v6', {}, { name: null, email: 'nameless@example.org' }),
]

for (const db of databases) {
  describe(db.name, () => {
    let warehouse: Warehouse
    let reads: ProjectDb
    let drop = async () => {}
    beforeAll(async () => {
      const filled = await openFilledMirror(db, { visitors, conversations, messages })
      const { main, refresh } = filled
      ;({ warehouse, reads, drop } = filled)
      await main.commit(commit('conversations', [talkedAt('thread', 5, { handled_at: timeAt(9) })]))
      await warehouse.query(`insert into writeback_batches (project_id, id, created_at)
        values ('main', '3f2a9c-replies', '${timeAt(1)}')`)
      await main.commit(commit('visitor_activity', [activity('v1', 'h', 0, { url: '/cart' })]))
      await refresh()
    })
    afterAll(() => drop())

    const search = async (text: string, before: string | null = null) => {
      const found = await searchMirror(reads, text, before, noColumnRules)
      return found.kind === 'found'
        ? found
        : { ...found, conversations: [], ids: [], people: [], next: null, total: 0 }
    }
    const ids = async (text: string) => (await search(text)).conversations.map(({ id }) => id)

    test('a question that the service dates ahead of this machine waits on all pages', async () => {
      const early = Date.parse(timeAt(99_000))
      const all = { minAgeMs: 0, isUnassigned: false, after: null }
      const { rows, buckets } = await readWaiting(reads, all, early)
      expect(rows.map(({ id }) => id)).toEqual(['c2', 'c1', 'c3'])
      expect(buckets.map(({ count }) => count)).toEqual([3, 2, 2, 2])
      expect((await readOverview(reads, early)).waiting.count).toBe(3)
      const listed = await Array.fromAsync(
        replySheet(reads, { kind: 'waiting', ...all }, { replies: settings.replies }, early),
      )
      expect(listed.flat()).toHaveLength(3)
    })

    test('who waits longest is first, with their name and last words; handled and answered ones do not wait', async () => {
      const all = { minAgeMs: 0, isUnassigned: false, after: null }
      const { rows, buckets, next } = await readWaiting(reads, all, now)
      expect(rows.map(({ id, name, lastWords }) => [id, name, lastWords])).toEqual([
        ['c2', null, 'asked'],
        ['c1', 'Zoë', 'last'],
        ['c3', null, 'asked'],
      ])
      expect([buckets.map(({ count }) => count), next]).toEqual([[3, 2, 2, 2], null])
      const idsOf = async (filter: Partial<typeof all> | { after: string }) =>
        (await readWaiting(reads, { ...all, ...filter }, now)).rows.map(({ id }) => id)
      expect(await idsOf({ minAgeMs: 60_000 })).toEqual(['c2', 'c1'])
      expect(await idsOf({ isUnassigned: true })).toEqual(['c2', 'c1'])
      expect(await idsOf({ after: `${timeAt(50)} c2` })).toEqual(['c1', 'c3'])
      for (const since of ['9999-99-99T99:99:99Z', '0000-01-01T00:00:00Z', '2026-02-31T00:00:00Z'])
        expect(
          (await readWaiting(reads, { ...all, after: `${since} c2` }, now)).rows,
          since,
        ).toBeInstanceOf(Array)
    })

    test('who waits is derived from the messages, everywhere, and what the service says of it stands beside', async () => {
      const { rows, difference } = await readWaiting(
        reads,
        { minAgeMs: 0, isUnassigned: false, after: null },
        now,
      )
      expect(rows.map(({ id, since, sinceByService }) => [id, since, sinceByService])).toEqual([
        ['c2', timeAt(50), timeAt(50)],
        ['c1', timeAt(5000), timeAt(6000)],
        ['c3', timeAt(99_990), null],
      ])
      const differenceAmong = (which: string) =>
        `The service's own field waitingSince shows no or another time for 2 of ${which} and a time for 1 other: when it changes is not documented, so who waits follows from the messages.`
      expect(difference).toBe(differenceAmong('the conversations on this page'))
      expect((await readOverview(reads, now)).waiting).toEqual({
        count: 3,
        since: timeAt(50),
        isDerived: true,
      })
      expect(await readConversation(reads, 'c1', null)).toMatchObject({
        waitingSince: timeAt(5000),
        sinceByService: timeAt(6000),
      })
      expect(await readConversation(reads, 'answered', null)).toMatchObject({
        waitingSince: null,
        sinceByService: timeAt(50),
      })
      const report = await readReportData(warehouse.db, warehouse.kind, 'main', now, (today) =>
        chooseReportPeriod({}, today),
      )
      expect(
        report?.queue.longest.map(({ conversationId, waitingSince }) => [
          conversationId,
          waitingSince,
        ]),
      ).toEqual(rows.map(({ id, since }) => [id, since]))
      expect([report?.queue.waiting, report?.serviceDifference]).toEqual([
        3,
        differenceAmong('the waiting conversations'),
      ])
      const exported = await warehouse.query(
        'select conversation_id, service_waiting_since from report_open where waiting_since is not null order by waiting_since',
      )
      expect(exported.map(({ conversation_id }) => conversation_id)).toEqual(
        rows.map(({ id }) => id),
      )
      expect(exported.map(({ service_waiting_since }) => service_waiting_since)).toEqual(
        rows.map(({ sinceByService }) => sinceByService),
      )
    })

    test('a thread is read from its end, with who wrote what, and what changed', async () => {
      const found = await readConversation(reads, 'thread', null)
      expect(found?.messages.slice(-3).map(({ id, role }) => [id, role])).toEqual([
        ['203', 'team'],
        ['300', 'visitor'],
        ['301', 'event'],
      ])
      expect([found?.messages.length, found?.older]).toEqual([200, '6'])
      expect(found?.changes.map(({ field, after }) => [field, after])).toEqual([
        ['handled_at', timeAt(9)],
      ])
      const older = await readConversation(reads, 'thread', '6')
      expect([older?.messages.map(({ id }) => id), older?.older]).toEqual([
        ['1', '2', '3', '4', '5'],
        null,
      ])
      expect(await readConversation(reads, 'none', null)).toBeNull()
    })

    test('a visitor has all fields that the service sent, conversations and activity', async () => {
      const found = await readVisitor(reads, 'v1')
      expect(found.fields).toEqual([
        { name: 'plan', value: 'gold' },
        { name: 'tags', value: '["a"]' },
      ])
      expect(found.conversations.map(({ id, handled }) => [id, handled])).toEqual([['c1', null]])
      expect(found.activity[0]?.text).toContain('url: /cart')
    })

    test('words find conversations in any case, with or without accents, the newest first', async () => {
      expect(await ids('Order')).toEqual(['new', 'old'])
      expect(await ids('cafe order')).toEqual(['old'])
      expect(await ids('ord')).toEqual(['new', 'old'])
      expect(await ids('or')).toEqual([])
      expect(await ids('返金')).toEqual(['new'])
      expect(await ids('nothing')).toEqual([])
      expect((await search('CAFÉ')).conversations[0]?.words).toBe(
        'Where is the ORDER from the Café?',
      )
      // Only the beginning of a message is looked through for the place.
      expect((await search('latecomer')).conversations).toMatchObject([{ id: 'new', words: null }])
      expect((await search('much')).conversations[0]?.words).toMatch(/^much much /)
    })

    test('an excerpt has whole words, and the place that was found', async () => {
      const words = async (text: string) => (await search(text)).conversations[0]?.words
      const long = await words('needle')
      expect(long).toMatch(/^…(word )+needle( word)+…$/)
      expect(long?.length).toBeLessThan(210)
      expect(await words('退')).toMatch(/^…字{60}退字{139}…$/)
    })

    test('a visitor without a name is shown by the address, as in the other lists', async () => {
      expect((await search('sorted')).conversations.map(({ name }) => name)).toEqual([
        'nameless@example.org',
        null,
      ])
    })

    test('results are in the order of the time that they show, whatever the service says of the conversation since', async () => {
      const { conversations } = await search('sorted')
      expect(conversations.map(({ id, lastAt }) => [id, lastAt])).toEqual([
        ['s2', timeAt(40)],
        ['s1', timeAt(30)],
      ])
    })

    test('results go on by their place, and conversations of one second are all found', async () => {
      const seen: string[] = []
      for (let before: string | null = null; ; ) {
        const page: Awaited<ReturnType<typeof search>> = await search('same', before)
        seen.push(...page.conversations.map(({ id }) => id))
        if (page.next === null) break
        before = page.next
      }
      expect([seen.length, new Set(seen).size]).toEqual([many.length, many.length])
      expect([(await search('same')).total, (await search('sorted')).total]).toEqual([
        seen.length,
        2,
      ])
      const sheet = replySheet(reads, { kind: 'search', text: 'same' }, { replies: {} }, now)
      const rows = (await Array.fromAsync(sheet)).flat()
      expect(rows.map(([id]) => id)).toEqual(seen)
    })

    test('an id leads to its thing, and people are found by name and address', async () => {
      expect(await search('c1')).toMatchObject({ kind: 'conversation', id: 'c1' })
      expect(await search(' v1 ')).toMatchObject({ kind: 'visitor', id: 'v1' })
      const people = async (text: string) => (await search(text)).people.map(({ id }) => id)
      for (const text of ['ada', 'love', 'ADA@ex']) expect(await people(text), text).toEqual(['v2'])
      for (const text of ['visitor.1@', 'Visitor.1+', 'visitor.1@exam'])
        expect(await people(text), text).toEqual(['v4'])
      expect((await people('visitor.1')).sort()).toEqual(['v4', 'v5'])
      expect([await people('100%_'), await people('%'), await people('0%')]).toEqual([
        ['v3'],
        [],
        [],
      ])
    })

    test('the beginning of an id, of six characters or more, finds what has it, in any case', async () => {
      const begun = async (text: string) =>
        (await search(text)).ids.map(({ folder, id }) => `${folder}/${id}`)
      const all = [
        'conversations/3f2a9c10-a',
        'conversations/3f2a9c10-b',
        'visitors/3f2a9c11',
        'batches/3f2a9c-replies',
      ]
      expect((await begun('3f2a9c')).sort()).toEqual(all.sort())
      expect(await begun('3F2A9C10')).toEqual([
        'conversations/3f2a9c10-a',
        'conversations/3f2a9c10-b',
      ])
      for (const text of ['3f2a9', '3f2a9d', '3f2a9%', '3f2a9c1_'])
        expect(await begun(text), text).toEqual([])
    })

    test('whatever is asked, it is not a query of another language', async () => {
      const quotes = ['"', "'", "a' & 'b", '\\', '\0', '\ud800']
      const operators = ['*', 'x OR y', 'NEAR(a b)', 'words:x', '& | !', ':*', '-', '^a', ' ']
      for (const text of [...quotes, ...operators])
        expect((await search(text)).conversations, text).toEqual([])
    })

    test('the index follows the mirror, and is thrown away without search', async () => {
      await openMirror(warehouse, 'main').commit(
        commit('messages', [message('edited', 1, { content: 'beta' })]),
      )
      expect(await ids('alpha')).toEqual(['edited'])
      await createProjectFacts(warehouse.projectDb('main'), settings).refresh()
      expect([await ids('alpha'), await ids('beta')]).toEqual([[], ['edited']])
      await createProjectFacts(warehouse.projectDb('main'), {
        ...settings,
        search: false,
      }).refresh()
      expect(await ids('beta')).toEqual([])
      const [row] = await warehouse.query('select count(*) as n from search_words')
      expect(Number(row?.n)).toBe(0)
    })
  })
}
