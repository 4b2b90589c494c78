/** What the pages for those who answer read, on each database. */
import { describe, expect, test } from 'vitest'
import { defaultProject } from '../../../src/config/config.ts'
import type { MirrorRow } from '../../../src/core/row.ts'
import { secret } from '../../../src/core/secret.ts'
import { databases } from '../../support/databases.ts'
import { activity, commit, conversation, message, timeAt, visitor } from '../row-fixtures.ts'
import { openTestWarehouse } from '../test-warehouse.ts'

const { timeZone, analytics } = defaultProject({
  ...{ name: 'main', projectId: 'main', baseUrl: new URL('https://x.example'), apiKey: secret('x') },
})
const now = Date.parse(timeAt(100_000))
const waits = (id: string, since: number, columns = {}) =>
  conversation(id, { waiting_since: timeAt(since), last_message_at: timeAt(since), ...columns })

for (const db of databases) {
  describe(db.name, () => {
    const open = async (rows: { conversations?: MirrorRow[]; messages?: MirrorRow[]; visitors?: MirrorRow[] }) => {
      const opened = await openTestWarehouse(db)
      const { mirror, warehouse } = opened
      await mirror.commit(commit('visitors', rows.visitors ?? []))
      await mirror.commit(commit('conversations', rows.conversations ?? []))
      await mirror.commit(commit('messages', rows.messages ?? []))
      const refresh = () => warehouse.facts('main', { timeZone, analytics }).refresh()
      await refresh()
      const search = async (text: string, before: string | null = null) => {
        const found = await warehouse.console('main').search(text, before)
        return found.kind === 'found' ? found : { ...found, conversations: [], people: [], next: null }
      }
      const ids = async (text: string) => (await search(text)).conversations.map(({ id }) => id)
      return { ...opened, reads: warehouse.console('main'), refresh, search, ids }
    }

    test('who waits longest is first, with their name and last words; handled and deleted ones do not wait', async () => {
      const { reads } = await open({
        visitors: [visitor('v1', {}, { name: 'Zoë' })],
        conversations: [
          waits('c1', 5000, { visitor_id: 'v1' }),
          waits('c2', 50),
          waits('c3', 99_990, { assigned_agent_id: 'a1' }),
          waits('c4', 10, { handled_at: timeAt(20) }),
          conversation('c5'),
        ],
        messages: [
          message('c1', 1, { content: 'first' }),
          message('c1', 2, { content: 'last' }),
          message('c1', 3, { kind: 'event' }),
        ],
      })
      const all = { minAgeMs: 0, isUnassigned: false, after: null }
      const { rows, buckets, next } = await reads.waiting(all, now)
      expect(rows.map(({ id, name, lastWords }) => [id, name, lastWords])).toEqual([
        ['c2', null, null],
        ['c1', 'Zoë', 'last'],
        ['c3', null, null],
      ])
      expect([buckets.map(({ count }) => count), next]).toEqual([[3, 2, 2, 2], null])
      const idsOf = async (filter: Partial<typeof all> | { after: string }) =>
        (await reads.waiting({ ...all, ...filter }, now)).rows.map(({ id }) => id)
      expect(await idsOf({ minAgeMs: 60_000 })).toEqual(['c2', 'c1'])
      expect(await idsOf({ isUnassigned: true })).toEqual(['c2', 'c1'])
      expect(await idsOf({ after: `${timeAt(50)} c2` })).toEqual(['c1', 'c3'])
    })

    test('a thread is read from its end, with who wrote what, and what changed', async () => {
      const messages = Array.from({ length: 203 }, (_, n) => message('c1', n + 1, { content: `text ${n + 1}` }))
      const { reads, mirror } = await open({
        conversations: [waits('c1', 5)],
        messages: [
          ...messages,
          message('c1', 300, { sender_type: 'visitor' }),
          message('c1', 301, { kind: 'assigned' }),
        ],
      })
      await mirror.commit(commit('conversations', [waits('c1', 5, { handled_at: timeAt(9) })]))
      const found = await reads.conversation('c1', null)
      expect(found?.messages.slice(-3).map(({ id, role }) => [id, role])).toEqual([
        ['203', 'team'],
        ['300', 'visitor'],
        ['301', 'event'],
      ])
      expect([found?.messages.length, found?.older]).toEqual([200, '6'])
      expect(found?.changes.map(({ field, after }) => [field, after])).toEqual([['handled_at', timeAt(9)]])
      const older = await reads.conversation('c1', '6')
      expect([older?.messages.map(({ id }) => id), older?.older]).toEqual([['1', '2', '3', '4', '5'], null])
      expect(await reads.conversation('none', null)).toBeNull()
    })

    test('a visitor has all fields that the service sent, conversations and activity', async () => {
      const { reads, mirror } = await open({
        visitors: [visitor('v1', { plan: 'gold', tags: ['a'] })],
        conversations: [conversation('c1', { visitor_id: 'v1' })],
      })
      await mirror.commit(commit('visitor_activity', [activity('v1', 'h', 0, { url: '/cart' })]))
      const found = await reads.visitor('v1')
      expect(found?.fields).toEqual([
        { name: 'plan', value: 'gold' },
        { name: 'tags', value: '["a"]' },
      ])
      expect(found?.conversations.map(({ id, isOpen }) => [id, isOpen])).toEqual([['c1', true]])
      expect(found?.activity[0]?.text).toContain('url: /cart')
      expect(await reads.visitor('none')).toBeNull()
    })

    test('words find conversations in any case, with or without accents, the newest first', async () => {
      const { ids, search } = await open({
        conversations: [waits('old', 5), waits('new', 9), waits('other', 7)],
        messages: [
          message('old', 1, { content: 'Where is the ORDER from the Café?' }),
          message('new', 1, { content: 'my order', created_at: timeAt(9) }),
          message('new', 2, { content: '返金してください' }),
          message('other', 1, { content: 'nothing', kind: 'event' }),
        ],
      })
      expect(await ids('Order')).toEqual(['new', 'old'])
      expect(await ids('cafe order')).toEqual(['old'])
      expect(await ids('ord')).toEqual(['new', 'old'])
      expect(await ids('or')).toEqual([])
      expect(await ids('返金')).toEqual(['new'])
      expect(await ids('nothing')).toEqual([])
      expect((await search('CAFÉ')).conversations[0]?.words).toBe('Where is the ORDER from the Café?')
    })

    test('the index follows the mirror', async () => {
      const { mirror, refresh, ids, search, count } = await open({
        conversations: [waits('c1', 5), waits('c2', 5)],
        messages: [message('c1', 1, { content: 'alpha' }), message('c2', 1, { content: 'alpha' })],
      })
      await mirror.commit(commit('messages', [message('c1', 1, { content: 'beta' })]))
      expect((await search('alpha')).kind === 'found' && (await search('alpha')).conversations).toHaveLength(2)
      await refresh()
      expect([await ids('alpha'), await ids('beta')]).toEqual([['c2'], ['c1']])
      expect([await count('search_conversations'), await count('search_words')]).toEqual([2, 2])
    })

    test('results go on by their place, and conversations of one second are all found', async () => {
      const rows = Array.from({ length: 60 }, (_, n) => `c${n}`)
      const { search } = await open({
        conversations: rows.map((id) => waits(id, 5)),
        messages: rows.map((id) => message(id, 1, { content: 'same', created_at: timeAt(5) })),
      })
      const seen: string[] = []
      for (let before: string | null = null; ; ) {
        const page: Awaited<ReturnType<typeof search>> = await search('same', before)
        seen.push(...page.conversations.map(({ id }) => id))
        if (page.next === null) break
        before = page.next
      }
      expect([seen.length, new Set(seen).size]).toEqual([60, 60])
    })

    test('an id leads to its thing, and people are found by name and address', async () => {
      const { search } = await open({
        visitors: [
          visitor('v1', {}, { name: 'Ada Lovelace', email: 'ada@example.com' }),
          visitor('v2', {}, { name: '100%_sure', email: null }),
        ],
        conversations: [conversation('c1')],
      })
      expect(await search('c1')).toMatchObject({ kind: 'conversation', id: 'c1' })
      expect(await search(' v1 ')).toMatchObject({ kind: 'visitor', id: 'v1' })
      const people = async (text: string) => (await search(text)).people.map(({ id }) => id)
      expect([await people('ada'), await people('love'), await people('ADA@ex'), await people('100%_')]).toEqual([
        ['v1'],
        ['v1'],
        ['v1'],
        ['v2'],
      ])
      expect([await people('%'), await people('0%')]).toEqual([[], []])
    })

    test('whatever is asked, it is not a query of another language', async () => {
      const { search } = await open({ conversations: [conversation('c1')] })
      for (const text of [
        '"',
        "'",
        '*',
        'a OR b',
        'NEAR(a b)',
        'words:x',
        '& | !',
        ':*',
        "a' & 'b",
        '\\',
        '\0',
        '-',
        '^a',
        '\ud800',
        ' ',
      ]) {
        expect((await search(text)).conversations, text).toEqual([])
      }
    })
  })
}
