/**
 * Not sampled, but enumerated: small lists with every behaviour of a service, and a reading that ends before any of its
 * requests, or meets a change there. Whatever happens, each row is mirrored, or a gap covers it.
 */
import { expect, test } from 'vitest'
import {
  type Behaviour,
  emptyMirror,
  everyBehaviour,
  everyList,
  type Mirror,
  missingRows,
  type Row,
  run,
  servePage,
} from './small-lists.ts'

type Failure = {
  readonly behaviour: Behaviour
  readonly what: string
  readonly missing: string
  readonly mirror: Mirror
}

/** Collects the first failures, and counts worlds. */
function collectFailures() {
  const failures: Failure[] = []
  let worlds = 0
  const check = (behaviour: Behaviour, rows: readonly Row[], happens: string, mirror: Mirror) => {
    worlds++
    const missing = missingRows(rows, mirror).filter(({ at }) => at !== null || !isInvisible(rows, behaviour))
    const what = `${rows.map(({ at }) => at ?? 'null').join()}: ${happens}`
    if (missing.length > 0) failures.push({ behaviour, what, missing: missing.map(({ id }) => id).join(), mirror })
  }
  const expectNone = () => {
    process.stdout.write(`${worlds} worlds\n`)
    expect({ failed: failures.length, first: failures.slice(0, 3) }).toEqual({ failed: 0, first: [] })
  }
  return { check, expectNone }
}

/** No page without bounds ends among rows without a time, so nothing shows that there are more of them. */
function isInvisible(rows: readonly Row[], behaviour: Behaviour): boolean {
  const reply = servePage(rows, behaviour, { bounds: {}, limit: null })
  const shown = reply.kind === 'page' ? reply.page.times : []
  return shown.length < rows.length && shown.every((times) => times.size > 0)
}

/** The first `nulls` rows have no time. */
function* withNulls(lists: Iterable<readonly Row[]>, nulls: readonly number[]): Generator<readonly Row[]> {
  for (const rows of lists)
    for (const count of nulls)
      if (count <= rows.length) yield rows.map((row, i) => (i < count ? { ...row, at: null } : row))
}

test('a reading without interruptions', () => {
  const { check, expectNone } = collectFailures()
  const lists = [
    ...withNulls(everyList(5, [0, 1, 10]), [0]),
    ...withNulls(everyList(4, [0, 10]), [1, 3]),
    ...withNulls(everyList(7, [10]), [0]),
  ]
  for (const behaviour of everyBehaviour()) {
    for (const rows of lists) {
      // Where rows without a time are sorted says nothing if there are none.
      if (behaviour.nulls === 'newest' && rows[0]?.at !== null) continue
      const mirror = emptyMirror()
      run(mirror, behaviour, () => rows)
      check(behaviour, rows, 'not interrupted', mirror)
    }
  }
  expectNone()
})

test('a reading that ends before any of its requests, and is continued', () => {
  const { check, expectNone } = collectFailures()
  const lists = [...withNulls(everyList(4, [0, 10]), [0]), ...withNulls(everyList(3, [1, 10]), [1, 2])]
  for (const behaviour of everyBehaviour()) {
    for (const rows of lists) {
      if (behaviour.nulls === 'newest' && rows[0]?.at !== null) continue
      // Shown in the other direction, a page proves the same: tried without interruptions.
      if (behaviour.shown === 'reversed') continue
      for (let [killedAt, isDone] = [2, false]; !isDone; killedAt++) {
        const mirror = emptyMirror()
        isDone = run(mirror, behaviour, () => rows, { killedAt })
        if (!isDone) run(mirror, behaviour, () => rows)
        check(behaviour, rows, `ended before request ${killedAt}`, mirror)
      }
    }
  }
  expectNone()
})

type Change = { readonly name: string; readonly apply: (rows: readonly Row[]) => readonly Row[] }

/** What can happen to a list between two requests: a new row, a row that moves to the new end, a row that is removed. */
function changesOf(rows: readonly Row[]): Change[] {
  const newest = rows.at(-1)?.at ?? 1000
  const added = [newest, newest + 10].map(
    (at): Change => ({ name: `added at ${at}`, apply: (all) => [...all, { id: 'x', at }] }),
  )
  const others = rows.flatMap(({ id }): Change[] => [
    { name: `${id} moved`, apply: (all) => all.map((row) => (row.id === id ? { id, at: newest + 10 } : row)) },
    { name: `${id} removed`, apply: (all) => all.filter((row) => row.id !== id) },
  ])
  return [...added, ...others]
}

test('a list that changes before any of the requests, which the next run sees', () => {
  const { check, expectNone } = collectFailures()
  const lists = [...everyList(3, [0, 10]), ...everyList(4, [10])]
  for (const behaviour of everyBehaviour()) {
    if (behaviour.nulls === 'newest' || behaviour.shown === 'reversed') continue
    for (const rows of lists) {
      for (const { name, apply } of changesOf(rows)) {
        for (let [changedAt, isChanged] = [2, true]; isChanged; changedAt++) {
          let now = rows
          isChanged = false
          const change = (request: number) => {
            if (request !== changedAt) return
            now = apply(rows)
            isChanged = true
          }
          const mirror = emptyMirror()
          run(mirror, behaviour, () => now, { change })
          run(mirror, behaviour, () => now)
          check(behaviour, now, `${name} before request ${changedAt}`, mirror)
        }
      }
    }
  }
  expectNone()
})

test('a service that does as its documentation says has no gaps, and costs a request a page and one more', () => {
  for (const behaviour of everyBehaviour()) {
    const { list, lower, upper, from, unbounded, hasMore, limit } = behaviour
    const isPlain =
      hasMore === 'exact' && limit === 'honoured' && ![lower, upper].some((it) => /ignored|refused/.test(it))
    const ends = {
      since: ['oldest'],
      before: ['newest'],
      'from and to': ['oldest', 'newest'],
      undocumented: ['oldest', 'newest'],
    }
    if (!isPlain || from !== unbounded || !ends[list].includes(from)) continue
    for (const rows of everyList(7, [10])) {
      const mirror = emptyMirror()
      run(mirror, behaviour, () => rows)
      expect([mirror.ids.size, mirror.gaps]).toEqual([rows.length, []])
      // Pages of two overlap by one row; the first one is asked for again, for its end.
      expect(mirror.requests).toBeLessThanOrEqual(Math.max(1, rows.length - 1) + (rows.length > 1 ? 3 : 0))
    }
  }
})
