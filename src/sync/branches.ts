/** One parent's list: its messages, its activity. */

import type { ChildRead } from '../core/mirror.ts'
import { everything, type Range, readPosition, writePosition } from '../core/position.ts'
import type { BranchStream } from '../streams/stream.ts'
import type { ReadChild } from './children.ts'
import type { Run } from './deps.ts'
import { pagesOf } from './pages.ts'

/** Reads what is new under one parent (all of it where the run proof-reads), page by page. */
export function branchReader(run: Run, stream: BranchStream): ReadChild {
  return async (child, lane) => {
    const start: Range = stream.name === 'visitor_activity' ? { ...everything, lo: run.startDate ?? 0 } : everything
    const ranges = run.mode === 'incremental' ? readPosition(child.position, start) : [start]
    const list = stream.list(run.project, child.parentId)
    const missing = new Set<string>()
    for await (const read of pagesOf(run, { stream: stream.name, list, ranges, lane })) {
      const { rows, unreadable } = stream.rows(read.items, child.parentId)
      for (const { reason } of read.missed) missing.add(reason)
      if (unreadable > 0) missing.add('rows without a key that could not be stored')
      const end = read.done ? { child: endOf(stream, child, writePosition(read.position), [...missing]) } : {}
      const askedAt = read.answer?.askedAt ?? run.now()
      const { changed } = await run.mirror.commit({ stream: stream.name, rows, askedAt, learned: read.learned, ...end })
      run.tally.stored(stream.name, rows.length, changed)
    }
  }
}

function endOf(
  stream: BranchStream,
  child: { parentId: string; wanted: number },
  position: string,
  missing: string[],
): ChildRead {
  const { parentId, wanted } = child
  const common = { stream: stream.name, parentId, wanted, position, againAt: null }
  return missing.length === 0 ? { ...common, complete: true } : { ...common, complete: false, why: missing.join('; ') }
}
