/**
 * Enumerated: small lists with every behaviour of a service, and a reading that ends before any of
 * its requests, or meets a change there. Whatever happens, each row is mirrored, or a gap covers it.
 *
 * Only the soak has all. In `npm test`, each of the longer lists meets a third of the behaviours:
 * all bounds, ends and directions, of which three lists in a row share what `hasMore` says; and no
 * reading is interrupted where the service ignores how many rows are asked for.
 *
 * Tried breaks, each of which fails here: a pending range is left out of the progress of a page
 * (`takeProgress`), and a single row that is missing from its page proves the new end although no
 * row of the page was there again (`wayOf`).
 */
import { expect, test } from 'vitest'
import { sampled, sampledCount } from '../../../support/sampled.ts'
import {
  type Behaviour,
  type Committed,
  createRuns,
  createServer,
  everyBehaviour,
  everyList,
  type ListServer,
  missingRows,
  type Row,
} from './small-lists.ts'

type Runs = ReturnType<typeof createRuns>

/** `runs`: together, they must have mirrored these rows, or cover them by gaps. */
type World = {
  readonly happens: string
  readonly rows: readonly Row[]
  readonly runs: readonly Committed[]
}

/**
 * `worldsOf`: all that can happen to a reading of these rows from such a service. `longer`: lists of
 * so many rows, see above.
 */
function expectNothingMissing(
  lists: readonly (readonly Row[])[],
  behaviours: readonly Behaviour[],
  longer: number,
  worldsOf: (rows: readonly Row[], behaviour: Behaviour, run: Runs) => Iterable<World>,
): void {
  const failures: object[] = []
  let worlds = 0
  for (const [n, rows] of lists.entries()) {
    const server = createServer()
    let run: Runs = createRuns(server)
    let list: Behaviour['list'] | null = null
    for (const behaviour of sampled(
      behaviours,
      (_, i) => rows.length < longer || i % 3 === n % 3,
    )) {
      // Readings of another list share nothing with these.
      if (behaviour.list !== list) run = createRuns(server)
      list = behaviour.list
      // Where rows without a time are sorted says nothing if there are none.
      if (behaviour.nulls === 'newest' && rows[0]?.at !== null) continue
      // Without a bound that works, two rows do not show by which of their times they are sorted.
      if (rows[0]?.other !== undefined && [behaviour.lower, behaviour.upper].includes('ignored'))
        continue
      for (const world of worldsOf(rows, behaviour, run)) {
        worlds++
        const missing = missingRows(world.rows, world.runs)
        const lost = missing.filter(
          ({ at }) => at !== null || !isInvisible(server, world.rows, behaviour),
        )
        if (lost.length === 0) continue
        const what = `${rows.map(({ at }) => at ?? 'null').join()}: ${world.happens}`
        failures.push({ behaviour, what, lost: lost.map(({ id }) => id).join() })
      }
    }
  }
  process.stdout.write(`${worlds} worlds\n`)
  expect({ failed: failures.length, first: failures.slice(0, 3) }).toEqual({ failed: 0, first: [] })
}

/**
 * No page without bounds ends among rows without a time, so nothing shows that there are more of
 * them.
 */
function isInvisible(server: ListServer, rows: readonly Row[], behaviour: Behaviour): boolean {
  const reply = server(rows, behaviour, { bounds: {}, limit: null })
  const shown = reply.kind === 'page' ? reply.page.times : []
  return shown.length < rows.length && shown.every((times) => times.size > 0)
}

/** The first `nulls` rows have no time. */
function* withNulls(
  lists: Iterable<readonly Row[]>,
  nulls: readonly number[],
): Generator<readonly Row[]> {
  for (const rows of lists)
    for (const count of nulls)
      if (count <= rows.length) yield rows.map((row, i) => (i < count ? { ...row, at: null } : row))
}

/**
 * Of each row, a second time: before, among or after those by which the list is sorted, and in
 * order by chance.
 */
const otherTimes = [
  ...[500, 1005, 2000].flatMap((first) =>
    [10, -10].map((step) => [0, 1, 2, 3, 4].map((i) => first + step * i)),
  ),
  // In order on most pages.
  [985, 1015, 975, 1005, 1025],
]

function* withOtherTimes(lists: Iterable<readonly Row[]>): Generator<readonly Row[]> {
  for (const rows of lists)
    if (rows.length > 0)
      for (const times of otherTimes) yield rows.map((row, i) => ({ ...row, other: times[i]! }))
}

/** Rows of one duration, several of which may share both times. */
function* withDuration(lists: Iterable<readonly Row[]>): Generator<readonly Row[]> {
  for (const rows of lists)
    if (rows.length > 0)
      for (const span of [5, -500]) yield rows.map((row) => ({ ...row, other: row.at! + span }))
}

const behaviours = [...everyBehaviour()]
/** Shown in the other direction, a page proves the same: tried without interruptions. */
const shownAsTaken = behaviours.filter(({ shown }) => shown === 'as taken')
/** And a larger page than was asked for, but in the soak. */
const interrupted = sampled(shownAsTaken, ({ limit }) => limit === 'honoured')

test('a reading without interruptions', () => {
  const lists = [
    ...withNulls(everyList(sampledCount(4, 5), [0, 1, 10]), [0]),
    ...withNulls(everyList(4, [0, 10]), [1, 3]),
    ...withNulls(everyList(7, [10], 6), [0]),
    ...withOtherTimes(withNulls(everyList(5, [10]), [0, 2, 3])),
    ...withDuration(everyList(5, [0, 10], 5)),
  ]
  expectNothingMissing(lists, behaviours, 4, function* (rows, behaviour, run) {
    yield { happens: 'not interrupted', rows, runs: [run(behaviour, { rowsAt: () => rows })] }
  })
})

test('a reading that ends before any of its requests, and is continued', () => {
  const lists = [
    ...withNulls(everyList(4, [0, 10]), [0]),
    ...withNulls(everyList(3, [1, 10]), [1, 2]),
    ...withOtherTimes(withNulls(everyList(4, [10]), [2])),
  ]
  expectNothingMissing(lists, interrupted, 4, function* (rows, behaviour, run) {
    const rowsAt = () => rows
    for (
      let ended: Committed | null = run(behaviour, { rowsAt });
      ended !== null;
      ended = ended.before
    ) {
      const happens = `ended after request ${ended.requests}`
      yield { happens, rows, runs: [ended, run(behaviour, { rowsAt, after: ended })] }
    }
  })
})

type Change = { readonly name: string; readonly apply: (rows: readonly Row[]) => readonly Row[] }

/**
 * What can happen to a list between two requests: a new row, a row that moves to the new end, a row
 * that is removed.
 */
function changesOf(rows: readonly Row[]): Change[] {
  const newest = rows.at(-1)?.at ?? 1000
  const added = [newest, newest + 10].map(
    (at): Change => ({ name: `added at ${at}`, apply: (all) => [...all, { id: 'x', at }] }),
  )
  const others = rows.flatMap(({ id }): Change[] => [
    {
      name: `${id} moved`,
      apply: (all) => all.map((row) => (row.id === id ? { id, at: newest + 10 } : row)),
    },
    { name: `${id} removed`, apply: (all) => all.filter((row) => row.id !== id) },
  ])
  // So that a page shows none of its rows again.
  const both = [rows.slice(2), rows.slice(0, -2)].map(
    (left): Change => ({ name: `only ${left.map(({ id }) => id)} left`, apply: () => left }),
  )
  return [...added, ...others, ...both]
}

test('a list that changes before any of the requests, which the next run sees', () => {
  const lists = [...everyList(3, [0, 10]), ...everyList(4, [10], 4)]
  expectNothingMissing(lists, interrupted, 3, function* (rows, behaviour, run) {
    // One row that changes shows no more in a longer list.
    const changes = sampled(changesOf(rows), ({ name }) => rows.length < 4 || /^only/.test(name))
    for (const { name, apply } of changes) {
      const changed = apply(rows)
      for (let [changedAt, requests] = [2, 2]; changedAt <= requests; changedAt++) {
        const after = run(behaviour, {
          rowsAt: (request) => (request < changedAt ? rows : changed),
        })
        requests = after.requests
        const happens = `${name} before request ${changedAt}`
        yield {
          happens,
          rows: changed,
          runs: [after, run(behaviour, { rowsAt: () => changed, after })],
        }
        // What it learned meanwhile holds for the rows that were there before, too.
        const whole = run(behaviour, { rowsAt: () => rows, after, isWhole: true })
        yield { happens: `${happens}, and back`, rows, runs: [whole] }
      }
    }
  })
})

test('a service that does as its documentation says has no gaps, and costs a request a page and a few more', () => {
  for (const behaviour of behaviours) {
    const { list, lower, upper, from, unbounded, hasMore, limit } = behaviour
    const isPlain =
      hasMore === 'exact' &&
      limit === 'honoured' &&
      ![lower, upper].some((it) => /ignored|refused/.test(it))
    const ends = {
      since: ['oldest'],
      before: ['newest'],
      'from and to': ['oldest', 'newest'],
      undocumented: ['oldest', 'newest'],
    }
    if (!isPlain || from !== unbounded || !ends[list].includes(from)) continue
    for (const rows of everyList(7, [10])) {
      const last = createRuns(createServer())(behaviour, { rowsAt: () => rows })
      expect([last.ids.size, last.gaps]).toEqual([rows.length, []])
      // Pages of two overlap by one row; the first one is asked for again, for its end, and for
      // what is older. Where `hasMore` was never set, both sides of the page are asked for.
      const isDated = list === 'since' || list === 'from and to'
      const sides = list === 'since' || list === 'before' ? 1 : 2
      const others = rows.length > 2 ? 3 : rows.length === 0 ? 0 : sides
      expect(last.requests).toBeLessThanOrEqual(
        Math.max(1, rows.length - 1) + others + Number(isDated),
      )
    }
  }
})
