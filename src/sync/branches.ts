/** One parent's list: its messages, its activity. */
import type { PageRead } from '../api/pager.ts'
import type { ChildRead, DueChild } from '../core/mirror.ts'
import { whyRefused } from '../core/row.ts'
import type { Ms, Seconds } from '../core/time.ts'
import { type Range, readPosition, writePosition } from '../core/walk/position.ts'
import type { BranchStream } from '../streams/stream.ts'
import { type ReadChild, syncChildren } from './children.ts'
import type { Run } from './deps.ts'
import { behind } from './look-back.ts'
import { pagesOf } from './pages.ts'
import { earlier, isEarlier, keepStart, startOf } from './start-date.ts'

/** The lists of all parents that are due; of all parents at all, where the start date was moved back. */
export async function syncBranches(run: Run, stream: BranchStream): Promise<void> {
  const further = (await earlier(run, stream.name)).length > 0
  if (further) await run.mirror.makeDue(stream.name, 'all', run.now())
  await keepStart(run, stream.name)
  await syncChildren(run, stream.name, branchReader(run, stream))
}

/** Reads what is new under one parent, or all of it, page by page. */
function branchReader(run: Run, stream: BranchStream): ReadChild {
  return async (child, lane, latest) => {
    const start = startOf(run, stream.name)
    const whole = child.whole || child.position === null
    const ranges = whole ? [start] : knownOf(run, stream.name, child, start)
    const list = stream.list(run.project, child.parentId)
    const missing = new Set<string>()
    let alike = new Map<string, number>()
    for await (const read of pagesOf(run, { stream: stream.name, list, ranges, lane })) {
      const { rows: all, refused } = stream.rows(read.items, child.parentId, { project: run.project, alike })
      if (read.ends) alike = new Map()
      const rows = all.filter((row) => !isEarlier(run, row))
      for (const { reason } of read.missed) missing.add(reason)
      const end = read.done ? { child: { ...endOf(run, stream, child, read, latest), ...verdict(whole, missing) } } : {}
      const askedAt = read.answer?.askedAt ?? run.now()
      const news = { stream: stream.name, rows, refused: [...read.refused, ...refused], askedAt, learned: read.learned }
      const { changed, refused: lost = [] } = await run.mirror.commit({ ...news, ...end })
      for (const row of lost) missing.add(whyRefused(row))
      run.tally.stored(stream.name, rows.length, changed)
    }
  }
}

/**
 * What may be new. A parent that speaks of something earlier than was read last has news that is dated back: then from
 * there, and some minutes before.
 */
function knownOf(run: Run, stream: BranchStream['name'], child: DueChild, start: Range): readonly Range[] {
  const ranges = behind(run, stream, readPosition(child.position, start))
  if (child.parentAt === null) return ranges
  const from = Math.max(start.lo, child.parentAt - run.lookBack)
  return ranges.map((range) => (range.hi === null ? { ...range, lo: Math.min(range.lo, from) } : range))
}

function endOf(run: Run, stream: BranchStream, child: DueChild, read: PageRead, latest: Seconds) {
  const position = writePosition(read.position)
  const againMs = again(run, stream.name, child, read.position, position, latest)
  const againAt = againMs === null ? null : run.now() + againMs
  return { stream: stream.name, parentId: child.parentId, wanted: child.wanted, position, againAt }
}

/** Milliseconds until a list is read again whose last second may not have been over, and that a second surely takes. */
const [soon, enough] = [5000, 2000] as const

/**
 * In how many milliseconds the list is read again although its parent shows nothing new: by the next pass where it lacks
 * what the parent speaks of, for activity after half as long again; soon where its last second may not have been over; once more
 * when what is late has come; null = not at all.
 */
function again(
  run: Run,
  stream: BranchStream['name'],
  child: DueChild,
  ranges: readonly Range[],
  position: string,
  latest: Seconds,
): Ms | null {
  const seen = ranges.reduce((at, { lo, hi }) => (hi === null ? Math.max(at, lo) : at), 0)
  const newest = Math.max(seen, child.parentAt ?? 0)
  const age = run.horizon() - newest
  const young = age >= 0 && age < run.lookBack
  const lacks = young && seen < newest
  if (lacks && stream === 'messages') return 0
  const stood = position === child.position && child.checkedAt !== null && run.now() - child.checkedAt > enough
  if (!stood && !isOver(ranges, latest)) return soon
  const rest = (run.lookBack - age) * 1000
  // A visitor may be seen without doing anything that is listed: a few readings have to do.
  if (lacks) return Math.min(rest, Math.max(soon, age * 500))
  return young ? rest : null
}

/**
 * Whether the list's last second was over when it was read: something later had been seen. What still comes within it
 * leaves the parent's times, of whole seconds, as they are: nothing would show that there is more.
 */
function isOver(position: readonly Range[], latest: Seconds): boolean {
  return position.every(({ lo, hi }) => hi !== null || lo < latest - 1)
}

/** What is missing, if anything; only a list that was read from its beginning can tell that nothing is. */
function verdict(whole: boolean, missing: ReadonlySet<string>): Pick<ChildRead, 'complete' | 'why'> {
  if (missing.size > 0) return { complete: false, why: [...missing].join('; ') }
  return { complete: whole || 'as before' }
}
