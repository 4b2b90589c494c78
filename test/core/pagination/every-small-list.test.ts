/**
 * Not sampled, but enumerated: every small list with every behaviour of a service, and a reading that ends before any of its
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

type Failure = { behaviour: Behaviour; rows: string; what: string; missing: string; gaps: number }

/** Collects the first failures, and counts worlds. */
function collector() {
  const failures: Failure[] = []
  let [worlds, failed] = [0, 0]
  const check = (behaviour: Behaviour, rows: readonly Row[], what: string, mirror: Mirror) => {
    worlds++
    const missing = missingRows(rows, mirror).filter(({ at }) => at !== null || !isHidden(rows, behaviour))
    if (missing.length === 0) return
    failed++
    if (failures.length < 5)
      failures.push({
        behaviour,
        what,
        rows: rows.map(({ at }) => at).join(),
        missing: missing.map(({ id }) => id).join(),
        gaps: mirror.gaps.length,
      })
  }
  return { check, summary: () => ({ worlds, failed, failures }) }
}

/** No page without bounds ends among rows without a time, so nothing shows that there are more. */
function isHidden(rows: readonly Row[], behaviour: Behaviour): boolean {
  const reply = servePage(rows, behaviour, { bounds: {}, limit: null })
  const shown = reply.kind === 'page' ? reply.page.times : []
  return shown.length < rows.length && shown.every((times) => times.size > 0)
}

const withNulls = (rows: readonly Row[], nulls: number) =>
  rows.map((row, i) => (i < nulls ? { ...row, at: null } : row))

test('a reading that ends before any of its requests, and is continued', () => {
  const { check, summary } = collector()
  for (const behaviour of everyBehaviour()) {
    for (const list of everyList(5, [0, 1, 10])) {
      for (const nulls of [0, 1, 3]) {
        if (nulls > list.length || (nulls === 0 && behaviour.nulls === 'newest')) continue
        const rows = withNulls(list, nulls)
        for (let killedAt = 1; ; killedAt++) {
          const mirror = emptyMirror()
          const isDone = run(mirror, behaviour, () => rows, { killedAt })
          if (!isDone) run(mirror, behaviour, () => rows)
          check(behaviour, rows, `ended before request ${killedAt}`, mirror)
          if (isDone) break
        }
      }
    }
  }
  const { worlds, failed, failures } = summary()
  console.log(`${worlds} worlds`)
  expect({ failed, failures }).toEqual({ failed: 0, failures: [] })
})
