/**
 * The rows alone show from which end of a list its pages come, whatever the clocks and whatever is
 * added meanwhile.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allTime, type PendingRanges } from '../../../../src/mirror/core/pagination/list-cursor.ts'
import {
  type ListEndpoint,
  type PagingProfile,
  resetUnsupported,
} from '../../../../src/mirror/core/pagination/paging-profile.ts'
import { readList } from '../../../../src/mirror/sync/pages.ts'
import type { ApiGet } from '../../../../src/service/core/api-request.ts'
import {
  type ListBehaviour,
  type ListItem,
  listEndpoint,
  plainBehaviour,
  serveList,
} from './simulated-list.ts'

const lists = {
  since: listEndpoint({ lower: 'since' }),
  both: listEndpoint({ lower: 'from', upper: 'to' }),
  before: listEndpoint({ upper: 'before' }),
  unknown: listEndpoint({ lower: 'since', upper: 'before', documented: false }),
}
type ListKind = keyof typeof lists

const bound = fc.constantFrom('inclusive', 'exclusive')
const end = fc.constantFrom('oldest', 'newest')
const scenarios = fc.record({
  kind: fc.constantFrom(...(Object.keys(lists) as ListKind[])),
  n: fc.constantFrom(30, 120, 199, 200, 201, 380, 650, 1000),
  apart: fc.constantFrom(1, 37, 4000),
  /** After each of the first requests: rows added, and old rows that move to the new end. */
  written: fc.constantFrom(0, 1, 5, 60),
  moved: fc.constantFrom(0, 1),
  /** Seconds per request. */
  takes: fc.constantFrom(0, 1, 40),
  /** Seconds by which the clock of the responses is ahead of that of the rows; null = no `Date`. */
  ahead: fc.constantFrom(0, 300, -300, 10_000_000, null),
  behaviour: fc.record({
    lower: bound,
    upper: bound,
    from: end,
    unbounded: end,
    shown: fc.constantFrom('as taken', 'reversed'),
    hasMore: fc.constantFrom('exact', 'page is full', 'always'),
    ignores: fc.constantFrom('nothing', 'nothing', 'lower', 'upper'),
    limit: fc.constantFrom('honoured', 'ignored'),
  }),
})
type Scenario = typeof scenarios extends fc.Arbitrary<infer S> ? S : never

function behaviourOf({
  kind,
  behaviour: { ignores, limit, ...behaviour },
}: Scenario): ListBehaviour {
  const all = { ...plainBehaviour, ...behaviour }
  if (kind === 'before') return { ...all, from: 'newest', unbounded: 'newest' }
  if (kind !== 'unknown') return all
  return { ...all, limit, ...(ignores === 'nothing' ? {} : { [ignores]: 'ignored' }) }
}

/** A list that changes while it is read, until `stopChanges` is called. */
function createChangingList(list: ListEndpoint, scenario: Scenario) {
  const { n, apart, written, moved, takes, ahead } = scenario
  let clock = 1_700_000_000 + n * apart + 5
  let isQuiet = false
  const nextId = () => `i${String(items.length).padStart(6, '0')}`
  const item = (at: number): ListItem => ({ id: nextId(), at, other: at - 500, part: true })
  const items: ListItem[] = []
  for (let i = 0; i < n; i++)
    items.push({
      ...item(1_700_000_000 + i * apart),
      other: 1_700_000_000 + i * apart - ((i * 7919) % 500),
    })
  const { get } = serveList(items, behaviourOf(scenario), list, (request) => {
    clock += takes
    if (isQuiet || request > 25) return
    for (let i = 0; i < written; i++) items.push(item(clock))
    const at = (request * 7919) % items.length
    if (moved > 0) items[at] = { ...items[at]!, at: clock }
  })
  const serverDate = () => (ahead === null ? null : clock + ahead)
  const dated: ApiGet = async (...args) => ({ ...(await get(...args)), serverDate: serverDate() })
  const stopChanges = () => {
    isQuiet = true
  }
  return { items, get: dated, stopChanges }
}

/**
 * `since` is ignored, so its page begins at the newest end, not at the edge of the range. That one
 * time of its rows is behind the edge does not show that the list is ordered by the other.
 */
const ignoredBound: Scenario = {
  kind: 'unknown',
  n: 200,
  apart: 4000,
  written: 60,
  moved: 1,
  takes: 1,
  ahead: 0,
  behaviour: {
    lower: 'inclusive',
    upper: 'inclusive',
    from: 'oldest',
    unbounded: 'newest',
    shown: 'as taken',
    hasMore: 'page is full',
    ignores: 'lower',
    limit: 'honoured',
  },
}

test('no row is lost without a reported gap, whichever end comes first, whatever is added meanwhile, whatever the clocks show', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const list = lists[scenario.kind]
      const { items, get, stopChanges } = createChangingList(list, scenario)
      let profile: PagingProfile | null = null
      let ranges: PendingRanges = [allTime]
      const scan = async () => {
        const [ids, missed] = [new Set<string>(), [] as unknown[]]
        for await (const batch of readList(get, { list, profile, ranges, priority: 'fresh' })) {
          for (const row of batch.items) ids.add(list.identify(row))
          missed.push(...batch.missedRanges)
          profile = batch.profile
          ranges = batch.pendingRanges
        }
        return { ids, missed }
      }
      const first = await scan()
      stopChanges()
      const second = await scan()
      const silent = items.filter(({ id }) => !first.ids.has(id) && !second.ids.has(id))
      if (first.missed.length + second.missed.length === 0) expect(silent).toEqual([])
      // The profile from the changing list must not mislead a later scan of the whole list.
      if (profile !== null) profile = resetUnsupported(list, profile)
      ranges = [allTime]
      const whole = await scan()
      if (whole.missed.length === 0)
        expect(items.filter(({ id }) => !whole.ids.has(id))).toEqual([])
    }),
    { numRuns: 300, examples: [[ignoredBound]] },
  )
})

test('messages that are newest first without a bound and oldest first with one are read completely', async () => {
  const list = lists.unknown
  for (const n of [60, 450]) {
    const items = Array.from({ length: n }, (_, i) => {
      const at = 1_700_000_000 + i * 37
      return { id: `i${i}`, at, other: at - ((i * 7919) % 5000), part: true }
    })
    const behaviour = {
      ...plainBehaviour,
      unbounded: 'newest',
      upper: 'ignored',
      limit: 'ignored',
    } as const
    const { get } = serveList(items, behaviour, list)
    const [ids, missed] = [new Set<string>(), [] as unknown[]]
    for await (const batch of readList(get, {
      list,
      profile: null,
      ranges: [allTime],
      priority: 'fresh',
    })) {
      for (const row of batch.items) ids.add(list.identify(row))
      missed.push(...batch.missedRanges)
    }
    expect([ids.size, missed]).toEqual([n, []])
  }
})
