/** Cursors and clocks, and pages of any size. */
import { expect, test } from 'vitest'
import {
  allTime,
  applyLookBack,
  type PendingRanges,
} from '../../../../src/mirror/core/pagination/list-cursor.ts'
import { readList } from '../../../../src/mirror/sync/pages.ts'
import type { ApiGet } from '../../../../src/service/core/api-request.ts'
import { toCursorLimit } from '../../../../src/service/response-headers.ts'
import { type ListItem, listEndpoint, plainBehaviour, serveList } from './simulated-list.ts'

const since = listEndpoint({ lower: 'since' })
const both = listEndpoint({ lower: 'from', upper: 'to' })
const unknown = listEndpoint({ lower: 'since', upper: 'before', documented: false })
const start = 1_700_000_000

const rows = (n: number, at: (i: number) => number): ListItem[] =>
  Array.from({ length: n }, (_, i) => ({
    id: `i${i}`,
    at: start + at(i),
    other: start + at(i),
    part: true,
  }))

/** The cursor after a scan of the whole list. `clock`: the cursor limit of the n-th answer. */
type Clock = (n: number) => number

async function cursorAfter(
  list: typeof since,
  items: readonly ListItem[],
  from: 'oldest' | 'newest',
  clock: Clock,
) {
  const { get, requests } = serveList(items, { ...plainBehaviour, from }, list)
  const dated: ApiGet = async (...args) => ({
    ...(await get(...args)),
    cursorLimit: clock(requests()),
  })
  let pendingRanges: PendingRanges = []
  const futureDated = new Set<string>()
  for await (const batch of readList(dated, {
    list,
    profile: null,
    ranges: [allTime],
    priority: 'fresh',
  })) {
    pendingRanges = batch.pendingRanges
    for (const id of batch.futureDatedIds) futureDated.add(id)
  }
  const cursor = pendingRanges.find(({ hi }) => hi === null)!.lo - start
  return { cursor, futureDated: futureDated.size, requests: requests() }
}

for (const [list, from] of [
  [since, 'oldest'],
  [both, 'oldest'],
  [both, 'newest'],
] as const) {
  test(`a row dated a year ahead moves no cursor beyond the clock, ${list.lowerParam} from the ${from} end`, async () => {
    const listed = rows(450, (i) => i * 10)
    const ahead = { id: 'ahead', at: start + 31_536_000, other: start + 31_536_000, part: true }
    const now = () => start + 4500
    expect(await cursorAfter(list, [...listed, ahead], from, now)).toMatchObject({
      cursor: 4500,
      futureDated: 1,
    })
    expect(await cursorAfter(list, listed, from, now)).toMatchObject({
      cursor: 4490,
      futureDated: 0,
    })
  })
}

test('a scan of thousands of future-dated rows ends, and the cursor stays at the clock of the first of them', async () => {
  const items = [
    ...rows(100, (i) => i),
    ...rows(3000, (i) => 100_000 + i).map((row) => ({ ...row, id: `a${row.id}` })),
  ]
  const clock = (request: number) => start + 200 + request * 60
  const { cursor, futureDated, requests } = await cursorAfter(since, items, 'oldest', clock)
  expect([cursor, futureDated, requests < 25]).toEqual([260, 3000, true])
})

test('with a clock far behind, all rows are read again and count as future-dated', async () => {
  const items = rows(49, (i) => i)
  const read = await cursorAfter(since, items, 'oldest', () => 0)
  expect(read).toEqual({ cursor: -start, futureDated: 49, requests: 4 })
})

test('the earlier of the two clocks at the time of the request counts', () => {
  const times = { requestedAt: 900_000, receivedAt: 900_100 }
  expect(toCursorLimit(1000, times)).toBe(900)
  expect(toCursorLimit(1000, { requestedAt: 2_000_000, receivedAt: 2_003_500 })).toBe(997)
  expect(toCursorLimit(null, times)).toBe(900)
})

test('a run begins one look-back before its cursor, but not before the start, and anew after an implausible cursor', () => {
  const options = { lookBackSeconds: 600, now: 100_000, start: 0 }
  const begin = (lo: number, more: Partial<typeof options> = {}) =>
    applyLookBack([{ lo, hi: null }], { ...options, ...more })[0]!.lo
  expect(begin(90_000)).toBe(89_400)
  expect(begin(90_000, { start: 89_900 })).toBe(89_900)
  expect(begin(100_300)).toBe(99_400)
  expect(begin(500_000)).toBe(0)
  expect(applyLookBack([{ lo: 5, hi: 9 }], options)).toEqual([{ lo: 5, hi: 9 }])
})

test('a conversation of 130,000 messages in one answer is read', async () => {
  const items = rows(130_000, (i) => i)
  const { get } = serveList(
    items,
    { ...plainBehaviour, everything: true, limit: 'ignored' },
    unknown,
  )
  let read = 0
  for await (const { items } of readList(get, {
    list: unknown,
    profile: null,
    ranges: [allTime],
    priority: 'fresh',
  })) {
    read += items.length
  }
  expect(read).toBe(130_000)
})
