/** What clocks may do to a cursor, and pages of any size. */
import { expect, test } from 'vitest'
import { readList } from '../../../src/api/list-reader.ts'
import type { ApiGet } from '../../../src/core/api-request.ts'
import { toCursorLimit } from '../../../src/core/cursor-limit.ts'
import { allTime, applyLookBack, type TimeRange } from '../../../src/core/pagination/pending-ranges.ts'
import { type Item, listEndpoint, plainBehaviour, serveList } from './simulated-list.ts'

const since = listEndpoint({ lower: 'since' })
const both = listEndpoint({ lower: 'from', upper: 'to' })
const unknown = listEndpoint({ lower: 'since', upper: 'before', documented: false })
const start = 1_700_000_000

const rows = (n: number, at: (i: number) => number): Item[] =>
  Array.from({ length: n }, (_, i) => ({ id: `i${i}`, at: start + at(i), other: start + at(i), part: true }))

/** Where a walk over all there is leaves its cursor, while the clocks say so. */
async function cursorAfter(
  of: typeof since,
  items: readonly Item[],
  from: 'oldest' | 'newest',
  clock: (n: number) => number,
) {
  const { get, requests } = serveList(items, { ...plainBehaviour, from }, of)
  const dated: ApiGet = async (...asked) => ({ ...(await get(...asked)), cursorLimit: clock(requests()) })
  let position: readonly TimeRange[] = []
  const ahead = new Set<string>()
  for await (const read of readList(dated, { list: of, profile: null, ranges: [allTime], priority: 'fresh' })) {
    position = read.pendingRanges
    for (const id of read.futureDatedIds) ahead.add(id)
  }
  return { cursor: position.find(({ hi }) => hi === null)!.lo - start, ahead: ahead.size, requests: requests() }
}

for (const [of, from] of [
  [since, 'oldest'],
  [both, 'oldest'],
  [both, 'newest'],
] as const) {
  test(`a row dated a year ahead carries no cursor beyond the clock, ${of.lowerParam} from the ${from} end`, async () => {
    const items = [
      ...rows(450, (i) => i * 10),
      { id: 'ahead', at: start + 31_536_000, other: start + 31_536_000, part: true },
    ]
    const now = start + 4500
    expect(await cursorAfter(of, items, from, () => now)).toMatchObject({ cursor: 4500, ahead: 1 })
    expect(await cursorAfter(of, items.slice(0, 450), from, () => now)).toMatchObject({ cursor: 4490, ahead: 0 })
  })
}

test('thousands of rows dated ahead end, and the cursor stays where the clock was when the first of them came', async () => {
  const items = [...rows(100, (i) => i), ...rows(3000, (i) => 100_000 + i).map((row) => ({ ...row, id: `a${row.id}` }))]
  const { cursor, ahead, requests } = await cursorAfter(since, items, 'oldest', (request) => start + 200 + request * 60)
  expect([cursor, ahead, requests < 25]).toEqual([260, 3000, true])
})

test('a clock that is far behind reads all again, and says of all that it is ahead', async () => {
  expect(
    await cursorAfter(
      since,
      rows(50, (i) => i),
      'oldest',
      () => 0,
    ),
  ).toEqual({ cursor: -start, ahead: 50, requests: 1 })
})

test('the smaller of the two clocks counts, at the moment of asking', () => {
  const heard = { servedAt: 1000, askedAt: 900_000, answeredAt: 900_100 }
  expect(toCursorLimit(heard)).toBe(900)
  expect(toCursorLimit({ ...heard, askedAt: 2_000_000, answeredAt: 2_003_500 })).toBe(997)
  expect(toCursorLimit({ ...heard, servedAt: null })).toBe(900)
})

test('a pass begins so much before its cursor, but not before the start, and anew where no clock can have led it', () => {
  const terms = { by: 600, now: 100_000, start: 0 }
  const begin = (lo: number, more: Partial<typeof terms> = {}) =>
    applyLookBack([{ lo, hi: null }], { ...terms, ...more })[0]!.lo
  expect(begin(90_000)).toBe(89_400)
  expect(begin(90_000, { start: 89_900 })).toBe(89_900)
  expect(begin(100_300)).toBe(99_400)
  expect(begin(500_000)).toBe(0)
  expect(applyLookBack([{ lo: 5, hi: 9 }], terms)).toEqual([{ lo: 5, hi: 9 }])
})

test('a conversation of 130,000 messages that comes at once is read', async () => {
  const { get } = serveList(
    rows(130_000, (i) => i),
    { ...plainBehaviour, everything: true, limit: 'ignored' },
    unknown,
  )
  let read = 0
  for await (const { items } of readList(get, { list: unknown, profile: null, ranges: [allTime], priority: 'fresh' })) {
    read += items.length
  }
  expect(read).toBe(130_000)
})
