import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  allTime,
  type PendingRanges,
  type TimeRange,
} from '../../../../src/mirror/core/pagination/list-cursor.ts'
import {
  emptyProfile,
  type ListEndpoint,
  type PagingProfile,
  resetUnsupported,
} from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { gapReasons } from '../../../../src/mirror/core/pagination/reading-state.ts'
import { conversations } from '../../../../src/mirror/core/streams.ts'
import { type PageBatch, readList } from '../../../../src/mirror/sync/pages.ts'
import type { ApiGet } from '../../../../src/service/core/api-request.ts'
import type { Json } from '../../../../src/values/json.ts'
import { parseTime } from '../../../../src/values/time.ts'
import { sampledCount } from '../../../support/sampled.ts'
import {
  type ListBehaviour,
  type ListItem,
  listEndpoint,
  parameterRefused,
  plainBehaviour,
  serveList,
} from './simulated-list.ts'

type ScanOutcome = {
  ids: Set<string>
  missed: { range: TimeRange; reason: string }[]
  requests: number
  profile: PagingProfile | null
  pendingRanges: PendingRanges
}

async function scanList(
  items: readonly ListItem[],
  behaviour: ListBehaviour,
  list: ListEndpoint,
  previous?: Partial<ScanOutcome>,
): Promise<ScanOutcome> {
  const { get, requests } = serveList(items, behaviour, list)
  const ids = new Set<string>()
  const missed: ScanOutcome['missed'] = []
  let profile: PagingProfile | null = previous?.profile ?? null
  let pendingRanges: PendingRanges = previous?.pendingRanges ?? [allTime]
  for await (const batch of readList(get, {
    list,
    profile,
    ranges: pendingRanges,
    priority: 'backfill',
  })) {
    for (const item of batch.items) ids.add(list.identify(item))
    missed.push(...batch.missedRanges)
    profile = batch.profile
    pendingRanges = batch.pendingRanges
  }
  return { ids, missed, requests: requests(), profile, pendingRanges }
}

function unexplained(
  items: readonly ListItem[],
  { ids, missed }: Pick<ScanOutcome, 'ids' | 'missed'>,
): ListItem[] {
  const isInside = ({ lo, hi }: TimeRange, at: number) => at >= lo && (hi === null || at <= hi)
  return items.filter(
    ({ id, at }) => !ids.has(id) && !missed.some(({ range }) => isInside(range, at)),
  )
}

/** n items; `seconds` chooses each one's time. `other` is a second time that orders nothing. */
const items = (n: number, seconds: (i: number) => number): ListItem[] =>
  Array.from({ length: n }, (_, i) => {
    const at = 1_700_000_000 + seconds(i)
    return {
      id: `i${String(i).padStart(6, '0')}`,
      at,
      other: at - ((i * 7919) % 5000),
      part: i % 2 === 0,
    }
  })

const spaced = (n: number) => items(n, (i) => i * 37)

const sinceList = listEndpoint({ lower: 'since', parts: [{ part: true }, { part: false }] })
const callList = listEndpoint({ lower: 'from', upper: 'to' })
const beforeList = listEndpoint({ upper: 'before' })
const unknownList = listEndpoint({ lower: 'since', upper: 'before', documented: false })

function mostInOneSecond(rows: readonly ListItem[]): number {
  const seconds = Map.groupBy(rows, ({ at }) => at)
  return Math.max(0, ...seconds.values().map((same) => same.length))
}

describe('every combination of behaviours that a service may have', () => {
  const side = fc.constantFrom('inclusive', 'exclusive')
  const end = fc.constantFrom('oldest', 'newest')
  const spread = fc.constantFrom(
    (i: number) => i * 37,
    (i: number) => Math.floor(i / 3),
    (i: number) => Math.floor(i / 90),
    (i: number) => (i < 260 ? i * 5 : i < 700 ? 1300 : 1300 + (i - 699) * 5),
    (i: number) => (i < 230 ? 0 : i),
    () => 0,
  )
  const size = fc.constantFrom(0, 1, 2, 49, 50, 51, 199, 200, 201, 400, 437, 1000)
  const common = {
    shown: fc.constant('as taken' as const),
    hasMore: fc.constantFrom('exact', 'page is full', 'always'),
    fraction: fc.boolean(),
  }
  const check = async (
    list: ListEndpoint,
    n: number,
    seconds: (i: number) => number,
    behaviour: ListBehaviour,
  ) => {
    const truth = items(n, seconds)
    const first = await scanList(truth, behaviour, list)
    expect(unexplained(truth, first).length).toBe(0)
    expect(first.requests).toBeLessThan(30 + n / 20)
    // Only a second with more rows than a page is a gap. A list of exactly one page, shown in
    // reverse with `hasMore` set, looks like the wrong end of a longer list.
    const isAmbiguous =
      n > 49 && n <= 200 && behaviour.shown === 'reversed' && behaviour.hasMore !== 'exact'
    const page = behaviour.hasMore === 'always' ? 50 : 90
    if (mostInOneSecond(truth) < page && !isAmbiguous) expect(first.missed).toEqual([])
    // A second run over an unchanged list, and one after new rows.
    const again = await scanList(truth, behaviour, list, first)
    expect(again.requests).toBeLessThanOrEqual(8)
    const added = items(n + 260, (i) => seconds(i) + 3).slice(n)
    const more = [
      ...truth,
      ...added.map((item) => ({ ...item, id: `n${item.id}`, at: item.at + 100_000 })),
    ]
    const next = await scanList(more, behaviour, list, again)
    const all = {
      ...next,
      ids: new Set([...first.ids, ...next.ids]),
      missed: [...first.missed, ...next.missed],
    }
    expect(unexplained(more, all).length).toBe(0)
    return first
  }

  test('a list with a lower bound loses no row and reports what it cannot read', async () => {
    await fc.assert(
      fc.asyncProperty(
        size,
        spread,
        fc.record({ ...common, lower: side }),
        async (n, seconds, behaviour) => {
          await check(sinceList, n, seconds, { ...plainBehaviour, ...behaviour })
        },
      ),
      { numRuns: sampledCount(100, 300) },
    )
  })

  test('a list with both bounds loses no row, whichever end comes first', async () => {
    const behaviour = fc.record({ ...common, lower: side, upper: side, from: end })
    await fc.assert(
      fc.asyncProperty(size, spread, behaviour, async (n, seconds, chosen) => {
        await check(callList, n, seconds, { ...plainBehaviour, ...chosen })
      }),
      { numRuns: sampledCount(130, 400) },
    )
  })

  test('a list with smaller pages than requested loses no row without a gap', async () => {
    const lists = fc.constantFrom(sinceList, callList, beforeList, unknownList)
    const ends = new Map<ListEndpoint, ListBehaviour['from']>([
      [sinceList, 'oldest'],
      [beforeList, 'newest'],
    ])
    const bound = fc.constantFrom('inclusive', 'exclusive', 'ignored')
    const behaviours = fc.record({
      hasMore: fc.constantFrom('exact', 'page is full'),
      fraction: fc.boolean(),
      lower: bound,
      upper: bound,
      from: end,
      pageSize: fc.constantFrom(7, 10, 20, 25, 49),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(2, 8, 30, 49, 300),
        spread,
        lists,
        behaviours,
        async (n, seconds, list, chosen) => {
          const truth = items(n, seconds)
          fc.pre(!list.isDocumented || (chosen.lower !== 'ignored' && chosen.upper !== 'ignored'))
          const behaviour = { ...plainBehaviour, ...chosen, from: ends.get(list) ?? chosen.from }
          // A list that fits into a page shows that the service does not always set `hasMore`.
          const small = await scanList(truth.slice(0, 1), { ...behaviour, hasMore: 'exact' }, list)
          const outcome = await scanList(truth, behaviour, list, { profile: small.profile })
          expect(unexplained(truth, outcome).length).toBe(0)
        },
      ),
      { numRuns: sampledCount(160, 500) },
    )
  })

  test('a list with an upper bound loses no row', async () => {
    const behaviour = fc.record({
      ...common,
      shown: fc.constantFrom('as taken', 'reversed'),
      upper: side,
    })
    await fc.assert(
      fc.asyncProperty(size, spread, behaviour, async (n, seconds, chosen) => {
        await check(beforeList, n, seconds, { ...plainBehaviour, from: 'newest', ...chosen })
      }),
      { numRuns: sampledCount(100, 300) },
    )
  })

  test('a list with undocumented parameters is read completely, or the rest is reported', async () => {
    const anyBound = fc.constantFrom('inclusive', 'exclusive', 'ignored', 'refused')
    const behaviour = fc.record({
      ...common,
      shown: fc.constantFrom('as taken', 'reversed'),
      lower: anyBound,
      upper: anyBound,
      from: end,
      limit: fc.constantFrom('honoured', 'ignored', 'refused'),
      everything: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(size, spread, behaviour, async (n, seconds, chosen) => {
        const truth = items(n, seconds)
        const outcome = await scanList(truth, { ...plainBehaviour, ...chosen }, unknownList)
        expect(unexplained(truth, outcome).length).toBe(0)
        expect(outcome.requests).toBeLessThan(40 + n / 10)
      }),
      { numRuns: sampledCount(200, 600) },
    )
  })
})

test('1 000 rows, 37 seconds apart, cost 6 pages, one request to check the start and two to check the bounds; no new rows cost 1', async () => {
  const truth = spaced(1000)
  const first = await scanList(truth, plainBehaviour, sinceList)
  expect(first).toMatchObject({ requests: 9, missed: [] })
  expect(await scanList(truth, plainBehaviour, sinceList, first)).toMatchObject({
    requests: 1,
    missed: [],
  })
})

test('a timestamp collision that the partitions show completely is not a gap', async () => {
  const truth = items(700, (i) => (i < 200 ? i : i < 500 ? 200 : i))
  const outcome = await scanList(truth, plainBehaviour, sinceList)
  expect(outcome.missed).toEqual([])
  expect(outcome.ids.size).toBe(700)
})

test('a page is full at the most that the service shows, whatever the documentation says, so a part may hold more', async () => {
  // 110 rows of that second in each part, and never more than 100 in a page.
  const truth = items(260, (i) => (i < 20 ? i : i < 240 ? 100 : i))
  const behaviour = { ...plainBehaviour, hasMore: 'never', pageSize: 100 } as const
  const outcome = await scanList(truth, behaviour, sinceList)
  const missing = truth.filter(({ id }) => !outcome.ids.has(id))
  expect(missing.every(({ at }) => at === 1_700_000_100)).toBe(true)
  expect(outcome.missed).toHaveLength(missing.length > 0 ? 1 : 0)
})

test('a timestamp collision without partitions is one gap of one second', async () => {
  const truth = items(700, (i) => (i < 200 ? i : i < 500 ? 200 : i))
  const outcome = await scanList(truth, plainBehaviour, listEndpoint({ lower: 'since' }))
  expect(outcome.missed).toEqual([
    {
      range: { lo: 1_700_000_200, hi: 1_700_000_200 },
      reason: 'more rows share this second than one page holds',
    },
  ])
  expect(outcome.ids.size).toBe(600)
})

test('a list that comes in one answer, however long, is not a gap and costs one request', async () => {
  const ignored = { lower: 'ignored', upper: 'ignored', limit: 'ignored' } as const
  for (const n of [201, 900]) {
    const outcome = await scanList(
      spaced(n),
      { ...plainBehaviour, everything: true, ...ignored },
      unknownList,
    )
    expect(outcome).toMatchObject({ requests: 1, missed: [] })
    expect(outcome.ids.size).toBe(n)
  }
})

test('pages ordered by a time that no row shows are complete if each shows the last row of the previous one', async () => {
  const shown: ListEndpoint = {
    ...sinceList,
    times: (item) => new Map([...sinceList.times(item)].slice(1)),
  }
  const overlapping = await scanList(spaced(1000), plainBehaviour, shown)
  expect(overlapping.missed).toEqual([])
  expect(overlapping.ids.size).toBe(1000)
})

test('pages ordered by a time that no row shows are a gap if they do not overlap', async () => {
  // The visible time is ahead of the one that orders the rows, so a bound taken from it leaves rows
  // out.
  const ahead = spaced(1000).map((item, i) => ({
    ...item,
    other: item.at + 20_000 + ((i * 7919) % 5000),
  }))
  const shown: ListEndpoint = {
    ...sinceList,
    times: (item) => new Map([...sinceList.times(item)].slice(1)),
  }
  const discontiguous = await scanList(ahead, plainBehaviour, shown)
  expect(discontiguous.ids.size).toBeLessThan(1000)
  const reason =
    'the rows are not sorted by any of their times, so rows between pages may be missing'
  expect(discontiguous.missed).toMatchObject([{ reason }])
})

test('bounds that compare another time than the one that sorts the list are a gap', async () => {
  const byEnd = { ...plainBehaviour, boundsCompareOther: true }
  // Calls, one a minute, of which every third took an hour: sorted by their ends, selected by their
  // beginnings.
  const calls = items(1000, (i) => i * 60).map((item, i) => ({
    ...item,
    other: item.at - (i % 3 === 0 ? 3600 : 0),
  }))
  for (const list of [sinceList, callList]) {
    const outcome = await scanList(calls, byEnd, list)
    expect(outcome.ids.size).toBeLessThan(1000)
    expect(outcome.missed).toEqual([{ range: { lo: 0, hi: null }, reason: gapReasons.otherBound }])
  }
})

test('a service that shows only recent rows where no bound asks for others is read to its oldest row', async () => {
  const rows = spaced(700)
  for (const first of [0, 100, 600, 699, 700])
    for (const from of ['oldest', 'newest'] as const)
      for (const list of [sinceList, callList]) {
        const recent = { ...plainBehaviour, from, since: rows[first]?.at ?? rows[699]!.at + 1 }
        const outcome = await scanList(rows, recent, list)
        expect(unexplained(rows, outcome)).toEqual([])
        if (from === 'oldest' || list === callList) expect(outcome.missed).toEqual([])
      }
})

/**
 * A page and a half, 400 rows that share a second, 400 that share another one, and others. Another
 * time: `other`.
 */
const imported = (other: (i: number) => number) =>
  items(1300, (i) => (i < 300 ? i : i < 700 ? 400 : i < 1100 ? 500 : i)).map((row, i) => ({
    ...row,
    other: row.at + other(i),
  }))

test('a second with more rows than a page is a gap although another time of its rows advances', async () => {
  for (const list of [listEndpoint({ lower: 'since' }), callList])
    for (const from of ['oldest', 'newest'] as const)
      for (const isShared of [false, true]) {
        const other = (i: number) => (isShared ? (i < 300 ? 50_000 : 60_000) : 50_000 + i)
        const outcome = await scanList(imported(other), { ...plainBehaviour, from }, list)
        expect(unexplained(imported(other), outcome)).toEqual([])
        const seconds = [400, 500].map((at) => ({ lo: 1_700_000_000 + at, hi: 1_700_000_000 + at }))
        // If the rows of a page share both times, nothing tells which one orders the list.
        if (isShared) seconds[0]!.hi += 60_000
        if (from === 'oldest') expect(outcome.missed.map(({ range }) => range)).toEqual(seconds)
      }
})

test('a time that all rows share holds up no reading', async () => {
  for (const list of [listEndpoint({ lower: 'since' }), callList])
    for (const other of [0, 1_700_000_000, 1_600_000_000]) {
      const rows = spaced(1000).map((row) => ({ ...row, other }))
      expect(await scanList(rows, plainBehaviour, list)).toMatchObject({
        ids: { size: 1000 },
        missed: [],
      })
    }
})

test('a single row with `hasMore` always set is not a gap', async () => {
  const outcome = await scanList(
    spaced(1),
    { ...plainBehaviour, hasMore: 'always', from: 'newest' },
    beforeList,
  )
  expect(outcome.missed).toEqual([])
})

test('an assumed order that a page refutes moves no cursor past a row', async () => {
  const shown: ListEndpoint = {
    ...sinceList,
    times: (item) => {
      const [at = 0, other = 0] = sinceList.times(item).values()
      return new Map([
        ['handledAt', at + ((at * 7919) % 50_000)],
        ['other', other],
      ])
    },
  }
  const profile = { ...emptyProfile(shown), order: { fields: ['handledAt'], direction: null } }
  const outcome = await scanList(spaced(1000), plainBehaviour, shown, { profile })
  expect(outcome.missed).toEqual([])
  expect(outcome.ids.size).toBe(1000)
})

test('rows of most of a page that are removed before the next request do not make it look like the other end', async () => {
  const rows = spaced(400)
  const { get } = serveList(rows, { ...plainBehaviour, from: 'newest' }, beforeList, (request) => {
    if (request === 1) rows.splice(-160)
  })
  const batches = await Array.fromAsync(
    readList(get, { list: beforeList, profile: null, ranges: [allTime], priority: 'backfill' }),
  )
  const ids = new Set(batches.flatMap(({ items: shown }) => shown.map(beforeList.identify)))
  expect(
    unexplained(rows, { ids, missed: batches.flatMap(({ missedRanges }) => missedRanges) }),
  ).toEqual([])
})

for (const takesOneBound of [false, true])
  test(`rows before a range do not make its pages look like the other end${takesOneBound ? ', even if they are shown' : ''}`, async () => {
    const truth = spaced(140)
    const behaviour = { ...plainBehaviour, limit: 'ignored', takesOneBound } as const
    const first = await scanList(truth.slice(0, 60), behaviour, callList)
    // Behind what was read, as calls may appear late: its pages begin among known rows.
    const pendingRanges = [{ lo: truth[30]!.at, hi: null }]
    const next = await scanList(truth, behaviour, callList, { ...first, pendingRanges })
    const ids = new Set([...first.ids, ...next.ids])
    expect(unexplained(truth, { ids, missed: next.missed })).toEqual([])
  })

test('a page that ends a range from above does not lead into it from below', async () => {
  // The oldest without a bound, the newest with one: the fourth is on no page.
  const rows = [
    ['2026-05-29T13:11:46Z', '2026-05-29T13:11:46Z', '2026-05-29T14:36:46Z'],
    ['2026-05-30T07:42:30Z', '2026-05-30T08:38:30Z', '2026-05-30T09:59:30Z'],
    ['2026-05-30T13:43:39Z', '2026-05-30T13:43:39Z', '2026-05-30T15:33:39Z'],
    ['2026-05-30T20:00:00Z', '2026-05-30T21:00:00Z', '2026-05-30T22:00:00Z'],
    ['2026-05-31T08:15:29Z', '2026-05-31T08:15:29Z', '2026-05-31T08:58:29Z'],
    ['2026-06-01T00:56:53Z', '2026-06-01T01:48:53Z', '2026-06-01T02:59:53Z'],
    ['2026-06-01T10:42:38Z', '2026-06-01T11:50:38Z', null],
  ].map(([createdAt, lastMessageAt, handledAt], id) => {
    return { id: String(id), createdAt, lastMessageAt, handledAt }
  })
  const get: ApiGet = async (_path, { since }) => {
    const matching = rows.filter(
      ({ lastMessageAt }) => since === undefined || String(lastMessageAt) > String(since),
    )
    const shown = since === undefined ? matching.slice(0, 3) : matching.slice(-3)
    return {
      data: { items: shown, hasMore: matching.length > 3 } as Json,
      ...{ status: 200, requestId: null, serverDate: null },
      ...{ cursorLimit: parseTime('2026-06-02T00:00:00Z')!, requestedAt: 0 },
    }
  }
  const ranges = [allTime]
  const list = conversations.list('p')
  const missed: TimeRange[] = []
  for await (const batch of readList(get, { list, profile: null, ranges, priority: 'backfill' }))
    missed.push(...batch.missedRanges.map(({ range }) => range))
  const at = parseTime(rows[3]?.lastMessageAt)!
  expect(missed.filter(({ lo, hi }) => lo <= at && at <= (hi ?? at))).toHaveLength(1)
})

test('a gap that is known before the first request is committed, and its range is not pending any more', async () => {
  const { support, ...profile } = emptyProfile(sinceList)
  const ranges = [
    { lo: 2_000_000_000, hi: null, seenLo: true },
    { lo: 0, hi: 1_900_000_000 },
  ]
  const { get } = serveList(spaced(10), { ...plainBehaviour, lower: 'ignored' }, sinceList)
  const ignored = { ...profile, support: { ...support, lower: 'ignored' as const } }
  const [first] = await Array.fromAsync(
    readList(get, { list: sinceList, profile: ignored, ranges, priority: 'backfill' }),
  )
  expect(first?.missedRanges).toMatchObject([{ range: { lo: 2_000_000_000, hi: null } }])
  expect(first?.pendingRanges).toEqual([ranges[1], { lo: 2_000_000_000, hi: null }])
})

test('a service that always sets `hasMore` is recognized, and its `hasMore` is then not trusted', async () => {
  const behaviour = { ...plainBehaviour, hasMore: 'always' } as const
  const first = await scanList(spaced(30), behaviour, sinceList)
  expect(first).toMatchObject({
    requests: 5,
    missed: [],
    profile: { isHasMoreReliableIfShort: false },
  })
  expect(await scanList(spaced(30), behaviour, sinceList, first)).toMatchObject({
    requests: 1,
    missed: [],
  })
  const longer = await scanList(spaced(437), behaviour, sinceList, { profile: first.profile })
  expect([longer.ids.size, longer.missed]).toEqual([437, []])
})

test('small pages of rows that are added meanwhile do not hide that a full page had more rows after it', async () => {
  const truth = spaced(60)
  const added = spaced(63).slice(60)
  const behaviour = {
    ...plainBehaviour,
    from: 'newest',
    upper: 'ignored',
    limit: 'ignored',
    hasMore: 'always',
  } as const
  const { get, requests } = serveList(truth, behaviour, unknownList)
  const busy: ApiGet = async (path, query, priority) => {
    if (requests() > 2) truth.push(...added.splice(0, 1))
    return { ...(await get(path, query, priority)), serverDate: truth.at(-1)!.at }
  }
  const missed = []
  const options = {
    list: unknownList,
    profile: null,
    ranges: [allTime],
    priority: 'backfill',
  } as const
  for await (const batch of readList(busy, options)) missed.push(...batch.missedRanges)
  expect(missed).toMatchObject([{ range: { lo: 0 } }])
})

test('a bound that is refused after a full second hides no row of the next range', async () => {
  const truth = items(400, (i) => (i < 200 ? 0 : 12_000) + Math.floor(i / 90))
  const list = listEndpoint({ lower: 'since', documented: false })
  const ranges = [
    { lo: 1_700_000_000, hi: 1_700_000_700 },
    { lo: 1_700_012_000, hi: null },
  ]
  for (const refusedAt of [2, 3, 4, 5, 6]) {
    const { get, requests } = serveList(truth, { ...plainBehaviour, limit: 'ignored' }, list)
    const refusing: ApiGet = async (...request) => {
      const answer = await get(...request)
      if (requests() === refusedAt) throw parameterRefused('a parameter')
      return answer
    }
    const ids = new Set<string>()
    const missed: ScanOutcome['missed'] = []
    for await (const batch of readList(refusing, {
      list,
      profile: null,
      ranges,
      priority: 'fresh',
    })) {
      for (const item of batch.items) ids.add(list.identify(item))
      missed.push(...batch.missedRanges)
    }
    expect(unexplained(truth, { ids, missed })).toEqual([])
  }
})

describe('a service that hides rows after it has cut a page', () => {
  /** Pages of 200 that show only every tenth row, so they are short although more rows follow. */
  const hiding = (truth: readonly ListItem[]): ApiGet => {
    const { get } = serveList(truth, plainBehaviour, sinceList)
    return async (path, query, priority) => {
      const answer = await get(path, query, priority)
      const { items: all, hasMore } = answer.data as { items: Json[]; hasMore: boolean }
      return {
        ...answer,
        data: { items: all.filter((_, i) => i % 10 === 0 || i === all.length - 1), hasMore },
      }
    }
  }

  test('is a gap behind a page of which it hides all rows', async () => {
    const truth = items(320, (i) => i * 60)
    const { get } = serveList(truth, plainBehaviour, sinceList)
    const hidingMiddle: ApiGet = async (path, query, priority) => {
      const answer = await get(path, query, priority)
      const { items: all, hasMore } = answer.data as { items: Json[]; hasMore: boolean }
      const isShown = (item: Json) =>
        !truth.slice(30, 280).some(({ id }) => id === (item as { id: string }).id)
      return { ...answer, data: { items: all.filter(isShown), hasMore } }
    }
    const missed = []
    const options = {
      list: sinceList,
      profile: null,
      ranges: [allTime],
      priority: 'backfill',
    } as const
    for await (const batch of readList(hidingMiddle, options)) missed.push(...batch.missedRanges)
    expect(missed).toContainEqual({
      range: { lo: truth[29]!.at + 1, hi: null },
      reason: gapReasons.emptyWithMore,
    })
  })

  test('is read to its end, even if its short pages once looked like the last one', async () => {
    const misled: PagingProfile = { ...emptyProfile(sinceList), isHasMoreReliableIfShort: false }
    const truth = items(900, (i) => i * 60)
    const ends = []
    for (const profile of [null, resetUnsupported(sinceList, misled)]) {
      let last: PageBatch | null = null
      const options = {
        list: sinceList,
        profile,
        ranges: [allTime],
        priority: 'reconcile',
      } as const
      for await (const batch of readList(hiding(truth), options)) last = batch
      ends.push([last?.pendingRanges[0]?.lo, last?.profile.isHasMoreReliableIfShort])
    }
    expect(ends).toEqual(Array(2).fill([truth.at(-1)!.at, true]))
  })
})
