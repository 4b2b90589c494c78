/** Paging, with each behaviour that the documentation leaves open. */
import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { PageOrder } from '../../src/sandbox/switches.ts'
import { firstRowPaths, sendRequest } from './requests.ts'

let sandbox: Sandbox
afterEach(() => sandbox.stop())

type Row = Record<string, string>
const size = {
  conversations: 70,
  visitors: 40,
  calls: 50,
  messagesPerConversation: 30,
  activityPerVisitor: 30,
}

async function startWith(switches: SandboxOptions['switches'], more: Partial<typeof size> = {}) {
  sandbox = await startSandbox({
    seed: 3,
    speed: 0,
    size: { ...size, ...more },
    switches: { 'rate.kind': 'off', ...switches },
  })
  return firstRowPaths(sandbox)
}

async function page(path: string): Promise<{ items: Row[]; hasMore: boolean }> {
  const { body, text } = await sendRequest(sandbox, path)
  if (body?.data === undefined) throw new Error(text)
  return body.data
}

/** Pages by the last timestamp until nothing new appears. */
async function readAll(path: string, parameter: string, field: string, limit = 20): Promise<Row[]> {
  const seen = new Map<string, Row>()
  for (let query = `?limit=${limit}`; ; ) {
    const { items, hasMore } = await page(path + query)
    const before = seen.size
    for (const item of items) seen.set(JSON.stringify(item), item)
    if (!hasMore || seen.size === before) return [...seen.values()]
    query = `?limit=${limit}&${parameter}=${items.at(-1)![field]}`
  }
}

const valuesOf = (rows: Row[], field: string) => rows.map((row) => row[field]!)
const sorted = (values: string[]) => [...values].sort()

describe('lists', () => {
  for (const field of ['createdAt', 'lastMessageAt', 'updatedAt'] as const) {
    for (const bound of ['inclusive', 'exclusive'] as const) {
      test(`conversations by ${field}, ${bound}: in order and complete`, async () => {
        const { base } = await startWith({
          'conversations.since': field,
          'conversations.bound': bound,
          'conversations.updatedAt': true,
        })
        const rows = await readAll(`${base}/conversations`, 'since', field)
        expect(rows).toHaveLength(70)
        expect(valuesOf(rows, field)).toEqual(sorted(valuesOf(rows, field)))
        const [middle] = rows.slice(30)
        const { items } = await page(`${base}/conversations?since=${middle![field]}&limit=1`)
        expect(items[0]!.id === middle!.id).toBe(bound === 'inclusive')
      })
    }
  }

  for (const field of ['createdAt', 'lastSeenAt', 'updatedAt'] as const) {
    test(`visitors by ${field}: in order and complete`, async () => {
      const { base } = await startWith({ 'visitors.since': field })
      const rows = await readAll(`${base}/visitors`, 'since', field)
      expect(rows).toHaveLength(40)
      expect(valuesOf(rows, field)).toEqual(sorted(valuesOf(rows, field)))
    })
  }

  for (const by of ['startedAt', 'endedAt'] as const) {
    test(`calls by ${by}: oldest first continue by from, newest first continue by to`, async () => {
      const { base } = await startWith({ 'calls.by': by })
      const forwards = await readAll(`${base}/calls`, 'from', by)
      expect(valuesOf(forwards, by)).toEqual(sorted(valuesOf(forwards, by)))
      sandbox.setSwitches({ 'calls.order': 'newest', 'calls.to': 'inclusive' })
      const backwards = await readAll(`${base}/calls`, 'to', by)
      expect(backwards.map(({ id }) => id)).toEqual(forwards.map(({ id }) => id).reverse())
      expect(forwards).toHaveLength(50)
    })
  }

  test('calls can require both from and to', async () => {
    const { base } = await startWith({ 'calls.range': 'required' })
    const { body } = await sendRequest(sandbox, `${base}/calls?from=2026-05-01T00:00:00Z`)
    expect(body.error.context.issues[0].path).toEqual(['to'])
  })

  for (const bound of ['inclusive', 'exclusive'] as const) {
    test(`activity is paged backwards by before, ${bound}, and contains exact copies`, async () => {
      const { base } = await startWith({ 'activity.before': bound })
      let copies = 0
      for (const { id } of sandbox.truth('visitors')) {
        const all = (await page(`${base}/visitors/${id}/activity?limit=200`)).items
        expect(valuesOf(all, 'occurredAt')).toEqual(sorted(valuesOf(all, 'occurredAt')).reverse())
        copies += all.length - new Set(all.map((entry) => JSON.stringify(entry))).size
        const edge = all[10]!.occurredAt!
        const earlier = (await page(`${base}/visitors/${id}/activity?limit=200&before=${edge}`))
          .items
        expect(earlier).toEqual(
          all.filter(
            ({ occurredAt }) =>
              occurredAt! < edge || (bound === 'inclusive' && occurredAt === edge),
          ),
        )
      }
      expect(copies).toBeGreaterThan(0)
    })
  }

  test('hasMore is exact, or true for every full page', async () => {
    const { base } = await startWith({})
    expect((await page(`${base}/conversations?limit=70`)).hasMore).toBe(false)
    expect((await page(`${base}/conversations?limit=69`)).hasMore).toBe(true)
    sandbox.setSwitches({ hasMore: 'full' })
    expect((await page(`${base}/conversations?limit=70`)).hasMore).toBe(true)
    expect((await page(`${base}/conversations?limit=71`)).hasMore).toBe(false)
  })

  test('a limit over 200 is refused, clamped, or honoured; an unknown parameter is ignored, or refused by name', async () => {
    const { base } = await startWith({}, { conversations: 250 })
    const list = (query: string) => sendRequest(sandbox, `${base}/conversations?${query}`)
    expect((await list('limit=250')).status).toBe(400)
    sandbox.setSwitches({ 'limit.over': 'clamped' })
    expect((await list('limit=250')).body.data.items).toHaveLength(200)
    sandbox.setSwitches({ 'limit.over': 'honoured' })
    expect((await list('limit=250')).body.data.items).toHaveLength(250)
    expect((await list('order=asc')).status).toBe(200)
    sandbox.setSwitches({ 'query.unknown': 'rejected' })
    expect(
      (await list('order=asc&limit=3&page=2')).body.error.context.issues.map(
        (issue: { path: string[] }) => issue.path[0],
      ),
    ).toEqual(['order', 'page'])
  })

  test('a storm puts many rows into one second, and a reader cannot get past more of them than a page holds', async () => {
    const { base } = await startWith({
      'storm.conversations': 40,
      'storm.visitors': 10,
      'storm.calls': 10,
    })
    const most = (rows: Row[], field: string) =>
      Math.max(
        ...Object.values(Object.groupBy(rows, (row) => row[field]!)).map((group) => group!.length),
      )
    const all = (await page(`${base}/conversations?limit=200`)).items
    for (const field of ['createdAt', 'lastMessageAt'])
      expect(most(all, field)).toBeGreaterThanOrEqual(40)
    expect(
      most((await page(`${base}/visitors?limit=200`)).items, 'lastSeenAt'),
    ).toBeGreaterThanOrEqual(10)
    expect(most((await page(`${base}/calls?limit=200`)).items, 'startedAt')).toBeGreaterThanOrEqual(
      10,
    )
    expect(
      (await readAll(`${base}/conversations`, 'since', 'lastMessageAt', 20)).length,
    ).toBeLessThan(70)
    expect(await readAll(`${base}/conversations`, 'since', 'lastMessageAt', 60)).toHaveLength(70)
  })

  test('with hidden fractions an exclusive since returns the same second again', async () => {
    const { base } = await startWith({ 'conversations.bound': 'exclusive', 'time.hidden': true })
    const rows = (await page(`${base}/conversations?limit=200`)).items
    const again = await page(`${base}/conversations?limit=1&since=${rows[20]!.lastMessageAt}`)
    expect(again.items[0]!.id).toBe(rows[20]!.id)
  })

  test('rows change during paging', async () => {
    const { base } = await startWith({ 'move.every': 2 })
    const before = JSON.stringify([
      ...sandbox.truth('conversations'),
      ...sandbox.truth('visitors'),
      ...sandbox.truth('calls'),
    ])
    for (let n = 0; n < 8; n += 1) await page(`${base}/conversations`)
    expect(
      JSON.stringify([
        ...sandbox.truth('conversations'),
        ...sandbox.truth('visitors'),
        ...sandbox.truth('calls'),
      ]),
    ).not.toBe(before)
  })

  test('the kinds of these changes can be chosen', async () => {
    const { base } = await startWith({ 'move.every': 1, 'move.kinds': 'deleteCall,addVisitor' })
    const count = (stream: 'calls' | 'visitors' | 'conversations') =>
      [...sandbox.truth(stream)].length
    for (let n = 0; n < 8; n += 1) await page(`${base}/visitors`)
    expect(count('calls') - 50 - (count('visitors') - 40)).toBe(-8)
    expect(count('conversations')).toBe(70)
    expect(() => sandbox.setSwitches({ 'move.kinds': 'explode' })).toThrow(
      'there is no change explode',
    )
  })

  test('a list can show the old version of a changed row for a while, a read by id cannot', async () => {
    const { base, visitor, visitorId } = await startWith({ 'stale.ms': 5000 })
    const listed = async () =>
      (await page(`${base}/visitors?limit=200`)).items.find(({ id }) => id === visitorId)!.name
    sandbox.mutate.renameVisitor(visitorId, 'Changed', null)
    expect(await listed()).not.toBe('Changed')
    expect((await sendRequest(sandbox, visitor)).body.data.name).toBe('Changed')
    sandbox.advance(6000)
    expect(await listed()).toBe('Changed')
  })
})

describe('messages', () => {
  const ids = (rows: Row[]) => rows.map(({ id }) => Number(id))
  const expectRising = (rows: Row[]) =>
    expect(ids(rows)).toEqual([...ids(rows)].sort((a, b) => a - b))

  test('all at once: parameters are ignored', async () => {
    const { conversation } = await startWith(
      { 'messages.paging': 'all' },
      { messagesPerConversation: 300 },
    )
    const { items, hasMore } = await page(`${conversation}/messages?limit=10`)
    expect([items.length, hasMore]).toEqual([300, false])
    expectRising(items)
  })

  test('limit only: further messages cannot be read', async () => {
    const { conversation } = await startWith({ 'messages.paging': 'limit' })
    expect(await readAll(`${conversation}/messages`, 'since', 'createdAt')).toHaveLength(20)
    expect((await page(`${conversation}/messages?limit=30`)).hasMore).toBe(false)
  })

  test('since pages forwards, before pages backwards, and both are complete', async () => {
    const { conversation } = await startWith({ 'messages.paging': 'since' })
    const forwards = await readAll(`${conversation}/messages`, 'since', 'createdAt', 7)
    expectRising(forwards)
    sandbox.setSwitches({ 'messages.paging': 'before', 'messages.order': 'newest' })
    const backwards = await readAll(`${conversation}/messages`, 'before', 'createdAt', 7)
    expect(ids(backwards)).toEqual(ids(forwards).reverse())
    expect(forwards).toHaveLength(30)
  })

  test('the newest page can be shown oldest first, as in a chat', async () => {
    const { conversation } = await startWith({
      'messages.paging': 'before',
      'messages.order': 'newest-ascending',
    })
    const { items } = await page(`${conversation}/messages?limit=10`)
    expectRising(items)
    expect(ids(items).at(-1)).toBe(30)
  })

  test('the list can ignore limit and have its own page size', async () => {
    const { conversation } = await startWith({ 'messages.limit': 'ignored', 'messages.page': 12 })
    expect((await page(`${conversation}/messages?limit=3`)).items).toHaveLength(12)
  })

  test('unknown parameters of the list are refused by name, if the service rejects them', async () => {
    const { conversation } = await startWith({
      'messages.paging': 'limit',
      'query.unknown': 'rejected',
    })
    expect((await sendRequest(sandbox, `${conversation}/messages?limit=3`)).status).toBe(200)
    expect(
      (await sendRequest(sandbox, `${conversation}/messages?before=2026-05-01T00:00:00Z`)).body
        .error.context.issues[0].path,
    ).toEqual(['before'])
    sandbox.setSwitches({ 'messages.paging': 'all' })
    expect((await sendRequest(sandbox, `${conversation}/messages?limit=3`)).status).toBe(400)
  })

  test('a storm ends a conversation in one second, and ids can exceed 2^53', async () => {
    const { conversation } = await startWith({ 'storm.messages': 15, 'ids.big': true })
    const { text } = await sendRequest(sandbox, `${conversation}/messages?limit=200`)
    const rows: Row[] = JSON.parse(text).data.items
    expect(new Set(rows.slice(-15).map(({ createdAt }) => createdAt)).size).toBe(1)
    expect(text).toContain('"id":9007199254740994,')
    expect(text).toContain('"id":9007199254740995,')
  })
})

describe('what the documentation leaves open about lists', () => {
  const list = (query: string) =>
    sendRequest(sandbox, `/public/projects/${sandbox.projectId}/${query}`)
  const startedAt = (rows: Row[]) => valuesOf(rows, 'startedAt')

  test('which end a page holds and how it shows its rows are apart from each other', async () => {
    const { base } = await startWith({})
    const all = startedAt((await page(`${base}/calls?limit=200`)).items)
    const shown = async (order: PageOrder, query = '') => {
      sandbox.setSwitches({ 'calls.order': order })
      return startedAt((await page(`${base}/calls?limit=10${query}`)).items)
    }
    const [oldest, newest] = [all.slice(0, 10), all.slice(-10)]
    expect(await shown('newest-ascending')).toEqual(newest)
    expect(await shown('newest-descending')).toEqual(newest.toReversed())
    expect(await shown('oldest-descending')).toEqual(oldest.toReversed())
    expect(await shown('newest-bounded-ascending')).toEqual(oldest)
    expect(await shown('newest-bounded-ascending', `&from=${all[0]}`)).toEqual(newest)
    const shuffled = await shown('newest-shuffled')
    expect(shuffled).not.toEqual(newest)
    expect(sorted(shuffled)).toEqual(newest)
    expect(sorted(await shown('any'))).not.toEqual(oldest)
    expect(await shown('any')).toEqual(await shown('any'))
  })

  test('a bound can be ignored, or refused by name', async () => {
    const { base, visitor } = await startWith({
      'calls.to': 'ignored',
      'visitors.bound': 'refused',
    })
    expect((await page(`${base}/calls?limit=200&to=2020-01-01T00:00:00Z`)).items).toHaveLength(50)
    const refused = await list('visitors?since=2026-05-01T00:00:00Z')
    expect([refused.status, refused.body.error.context.issues[0].path]).toEqual([400, ['since']])
    expect((await list('visitors')).status).toBe(200)
    sandbox.setSwitches({ 'activity.before': 'refused' })
    expect(
      (await sendRequest(sandbox, `${visitor}/activity?before=2026-05-01T00:00:00Z`)).status,
    ).toBe(400)
  })

  test('rows without a time are at either end of their list, and a request with a bound does not show them', async () => {
    const { base } = await startWith({ 'undated.share': 0.2 })
    const isUndated = ({ lastSeenAt }: Row) => lastSeenAt === null
    const visitors = async (query = '') =>
      (await page(`${base}/visitors?limit=200${query}`)).items.map(isUndated)
    const undated = (await visitors()).filter((is) => is).length
    expect(undated).toBeGreaterThan(2)
    expect((await visitors()).slice(-undated)).not.toContain(false)
    expect(await visitors('&since=2020-01-01T00:00:00Z')).toEqual(Array(40 - undated).fill(false))
    sandbox.setSwitches({ 'undated.end': 'oldest', 'visitors.order': 'newest' })
    expect((await visitors()).slice(-undated)).not.toContain(false)
    sandbox.setSwitches({ 'visitors.order': 'oldest' })
    expect((await visitors()).slice(0, undated)).not.toContain(false)
    const times = async (query = '') =>
      startedAt((await page(`${base}/calls?limit=200${query}`)).items)
    expect(await times('&to=2030-01-01T00:00:00Z')).not.toContain(null)
    expect(await times()).toContain(null)
    const haveOtherTimes = async () => {
      const { items } = await page(`${base}/calls?limit=200`)
      return new Set(
        items.flatMap(({ startedAt, endedAt }) => (startedAt === null ? [endedAt !== null] : [])),
      )
    }
    expect(await haveOtherTimes()).toEqual(new Set([true]))
    sandbox.setSwitches({ 'undated.times': 'all' })
    expect(await haveOtherTimes()).toEqual(new Set([false]))
  })

  test('without `handled` the list can show only open conversations, or only handled ones', async () => {
    const { base } = await startWith({})
    const count = async (query = '') =>
      (await page(`${base}/conversations?limit=200${query}`)).items.length
    const [open, handled] = [await count('&handled=false'), await count('&handled=true')]
    sandbox.setSwitches({ 'conversations.handled': 'open' })
    expect([await count(), await count('&handled=true')]).toEqual([open, handled])
    sandbox.setSwitches({ 'conversations.handled': 'handled' })
    expect([await count(), await count('&handled=false')]).toEqual([handled, open])
  })

  test('`hasMore` can be false where more follows, or absent; the page size can be its own', async () => {
    const { base } = await startWith({ hasMore: 'never' })
    expect((await page(`${base}/conversations?limit=10`)).hasMore).toBe(false)
    sandbox.setSwitches({ hasMore: 'absent', 'pages.size': 60 })
    expect(Object.keys(await page(`${base}/conversations?limit=10`))).toEqual(['items'])
    expect((await page(`${base}/conversations?limit=10`)).items).toHaveLength(60)
  })

  test('all rows can be gone for a while', async () => {
    const { base, visitor, conversation } = await startWith({})
    sandbox.setSwitches({ 'missing.rows': 'all' })
    for (const name of ['conversations', 'visitors', 'calls'])
      expect(await page(`${base}/${name}`)).toEqual({ items: [], hasMore: false })
    for (const path of [visitor, conversation, `${conversation}/messages`])
      expect((await sendRequest(sandbox, path)).body.error.code).toBe('NOT_FOUND')
    sandbox.setSwitches({ 'missing.rows': 'none' })
    expect((await page(`${base}/visitors?limit=200`)).items).toHaveLength(40)
  })

  test('ids can have capital letters in lists only, or everywhere else only', async () => {
    const { base, visitor, visitorId } = await startWith({ 'ids.letters': 'upper-in-lists' })
    const listed = async () => (await page(`${base}/visitors?limit=200`)).items.map(({ id }) => id)
    const single = async (path: string) => (await sendRequest(sandbox, path)).body.data.id
    expect(await listed()).toContain(visitorId.toUpperCase())
    expect(await single(visitor)).toBe(visitorId.toLowerCase())
    sandbox.setSwitches({ 'ids.letters': 'upper-by-id' })
    expect(await listed()).toContain(visitorId.toLowerCase())
    for (const id of [visitorId.toLowerCase(), visitorId.toUpperCase()])
      expect(await single(`${base}/visitors/${id}`)).toBe(visitorId.toUpperCase())
  })

  test('a row that is read by its id can have other values in some fields', async () => {
    const { base, visitor, visitorId } = await startWith({ 'single.shape': 'other' })
    const listed = (await page(`${base}/visitors?limit=200`)).items.find(
      ({ id }) => id === visitorId,
    )!
    const single = (await sendRequest(sandbox, visitor)).body.data
    const customFields = { ...Object(listed.customFields), plan: 'by id' }
    expect(single).toEqual({ ...listed, pageViews: Number(listed.pageViews) + 1, customFields })
  })

  test('a conversation can show a later message than its newest one', async () => {
    const misdated = {
      'misdated.of': 'messages',
      'misdated.share': 1,
      'misdated.seconds': -7200,
    } as const
    const { conversation } = await startWith({ ...misdated, 'misdated.last': 'real' })
    const { lastMessageAt } = (await sendRequest(sandbox, conversation)).body.data
    const messages = (await page(`${conversation}/messages?limit=200`)).items
    expect(Date.parse(lastMessageAt) - Date.parse(messages.at(-1)!.createdAt!)).toBe(7_200_000)
  })

  test('the messages of one conversation alone can be denied, for a reason without a known name', async () => {
    const { conversation, base } = await startWith({ 'fault.status': 403 })
    const [other] = (await page(`${base}/conversations`)).items.filter(
      ({ id }) => !conversation.includes(id!),
    )
    sandbox.scriptFault({ kind: 'status', operation: 'listMessages', path: conversation, times: 2 })
    const read = (path: string) => sendRequest(sandbox, `${path}/messages`)
    expect((await read(`/public/conversations/${other!.id}`)).status).toBe(200)
    expect((await read(conversation)).body.error).toMatchObject({ status: 403, code: 'ODD' })
  })
})
