/** Which end of a list its pages come from is seen from the rows alone: no clock is believed, and what is new proves nothing. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readList } from '../../../src/api/list-reader.ts'
import type { ApiGet } from '../../../src/core/api-request.ts'
import type { ListEndpoint } from '../../../src/core/pagination/list-endpoint.ts'
import { type PagingProfile, resetUnsupported } from '../../../src/core/pagination/paging-profile.ts'
import { allTime, type TimeRange } from '../../../src/core/pagination/pending-ranges.ts'
import { type Item, type ListBehaviour, listEndpoint, plainBehaviour, serveList } from './simulated-list.ts'

const lists = {
  since: listEndpoint({ lower: 'since' }),
  both: listEndpoint({ lower: 'from', upper: 'to' }),
  before: listEndpoint({ upper: 'before' }),
  unknown: listEndpoint({ lower: 'since', upper: 'before', documented: false }),
}
type ListKind = keyof typeof lists

const bound = fc.constantFrom('inclusive' as const, 'exclusive' as const)
const end = fc.constantFrom('oldest' as const, 'newest' as const)
const worldArbitrary = fc.record({
  kind: fc.constantFrom(...(Object.keys(lists) as ListKind[])),
  n: fc.constantFrom(30, 120, 199, 200, 201, 380, 650, 1000),
  apart: fc.constantFrom(1, 37, 4000),
  /** What is written, and how many old rows move to the new end, after each of the first requests. */
  written: fc.constantFrom(0, 1, 5, 60),
  moved: fc.constantFrom(0, 1),
  /** Seconds that a request takes. */
  takes: fc.constantFrom(0, 1, 40),
  /** How far the clock of the answers is ahead of that of the rows; null = they carry none. */
  ahead: fc.constantFrom(0, 300, -300, 10_000_000, null),
  manners: fc.record({
    lower: bound,
    upper: bound,
    from: end,
    unbounded: end,
    shown: fc.constantFrom('as taken' as const, 'reversed' as const),
    hasMore: fc.constantFrom('exact' as const, 'page is full' as const, 'always' as const),
    ignores: fc.constantFrom('nothing' as const, 'nothing' as const, 'lower' as const, 'upper' as const),
    limit: fc.constantFrom('honoured' as const, 'ignored' as const),
  }),
})
type World = typeof worldArbitrary extends fc.Arbitrary<infer W> ? W : never

function behaviourOf({ kind, manners: { ignores, limit, ...manners } }: World): ListBehaviour {
  const all = { ...plainBehaviour, ...manners }
  if (kind === 'before') return { ...all, from: 'newest', unbounded: 'newest' }
  if (kind !== 'unknown') return all
  return { ...all, limit, ...(ignores === 'nothing' ? {} : { [ignores]: 'ignored' }) }
}

/** A list that lives on while it is read: `get` asks for it, `quiet` ends the changes. */
function createLivingList(of: ListEndpoint, { n, apart, written, moved, takes, ahead, ...others }: World) {
  let clock = 1_700_000_000 + n * apart + 5
  let quiet = false
  const item = (at: number): Item => ({
    id: `i${String(items.length).padStart(6, '0')}`,
    at,
    other: at - 500,
    part: true,
  })
  const items: Item[] = []
  for (let i = 0; i < n; i++)
    items.push({ ...item(1_700_000_000 + i * apart), other: 1_700_000_000 + i * apart - ((i * 7919) % 500) })
  const { get } = serveList(
    items,
    behaviourOf({ n, apart, written, moved, takes, ahead, ...others }),
    of,
    (request) => {
      clock += takes
      if (quiet || request > 25) return
      for (let i = 0; i < written; i++) items.push(item(clock))
      const at = (request * 7919) % items.length
      if (moved > 0) items[at] = { ...items[at]!, at: clock }
    },
  )
  const dated: ApiGet = async (...asked) => ({
    ...(await get(...asked)),
    servedAt: ahead === null ? null : clock + ahead,
  })
  const rest = () => {
    quiet = true
  }
  return { items, get: dated, rest }
}

test('no row is lost without a word: whichever end comes first, whatever is written meanwhile, whatever any clock says', async () => {
  await fc.assert(
    fc.asyncProperty(worldArbitrary, async (chosen) => {
      const of = lists[chosen.kind]
      const { items, get, rest } = createLivingList(of, chosen)
      let known: PagingProfile | null = null
      let ranges: readonly TimeRange[] = [allTime]
      const pass = async () => {
        const [ids, missed] = [new Set<string>(), [] as unknown[]]
        for await (const read of readList(get, { list: of, profile: known, ranges, priority: 'fresh' })) {
          for (const row of read.items) ids.add(of.identify(row))
          missed.push(...read.missedRanges)
          known = read.profile
          ranges = read.pendingRanges
        }
        return { ids, missed }
      }
      const first = await pass()
      rest()
      const second = await pass()
      const silent = items.filter(({ id }) => !first.ids.has(id) && !second.ids.has(id))
      if (first.missed.length + second.missed.length === 0) expect(silent).toEqual([])
      // What was learned in the turmoil must not mislead whoever reads all of it again.
      if (known !== null) known = resetUnsupported(of, known)
      ranges = [allTime]
      const whole = await pass()
      if (whole.missed.length === 0) expect(items.filter(({ id }) => !whole.ids.has(id))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('messages that come newest first unless a bound is given, and then oldest first, are read whole', async () => {
  const of = lists.unknown
  for (const n of [60, 450]) {
    const items = Array.from({ length: n }, (_, i) => ({
      id: `i${i}`,
      at: 1_700_000_000 + i * 37,
      other: 1_700_000_000 + i * 37 - ((i * 7919) % 5000),
      part: true,
    }))
    const { get } = serveList(items, { ...plainBehaviour, unbounded: 'newest', upper: 'ignored', limit: 'ignored' }, of)
    const [ids, missed] = [new Set<string>(), [] as unknown[]]
    for await (const read of readList(get, { list: of, profile: null, ranges: [allTime], priority: 'fresh' })) {
      for (const row of read.items) ids.add(of.identify(row))
      missed.push(...read.missedRanges)
    }
    expect([ids.size, missed]).toEqual([n, []])
  }
})
