/** From a list's pages to the mirror: each page's rows, the cursor and what was learned, in one commit. */

import type { PageRead } from '../api/pager.ts'
import { readList } from '../api/pager.ts'
import type { Lane } from '../core/lane.ts'
import { childStreams } from '../core/mirror.ts'
import type { Behaviour, Gap, StreamName } from '../core/row.ts'
import { contradicts, forgiving, type Knowledge, recall, unite } from '../core/walk/knowledge.ts'
import type { List } from '../core/walk/list.ts'
import type { Range } from '../core/walk/position.ts'
import { noteAhead } from './clocks.ts'
import type { Run } from './deps.ts'
import { stopIfAsked } from './stop.ts'

export type Pass = {
  readonly stream: StreamName
  readonly list: List
  readonly ranges: readonly Range[]
  readonly lane: Lane
}

/** The pages of a list, each to be committed before the next is asked for. */
export async function* pagesOf(run: Run, { stream, list, ranges, lane }: Pass): AsyncGenerator<PageRead> {
  const known = await knowledge(run, list)
  const isList = !(stream in childStreams)
  const habit = (await saysMore(run)) || (isList ? null : false)
  for await (const read of readList(run.get, { list, known, ranges, lane, habit })) {
    if (read.learned.length > 0) {
      run.known.set(list.name, unite(run.known.get(list.name) ?? known, read.known))
      await tell(run, stream, read.learned)
    }
    noteAhead(run, stream, read.ahead)
    if (isList && isHollow(read)) run.hollow.add(stream)
    yield read
    stopIfAsked(run.signal)
  }
}

/** Whether some list of the service is known to say of its last page that there is more. */
export async function saysMore(run: Run): Promise<boolean> {
  if ([...run.known.values()].some(({ exact }) => exact === false)) return true
  return [...(await run.mirror.behaviours())].some(
    ([name, value]) => name.endsWith('.has_more') && value === 'not exact',
  )
}

/** Nothing, and more behind it. */
function isHollow({ answer, items, ends, refused }: PageRead): boolean {
  const { hasMore = false } = (answer?.data ?? {}) as { readonly hasMore?: unknown }
  return ends && items.length === 0 && refused.length === 0 && hasMore === true
}

/** A reconcile tries again what did not work: the service may have changed. */
async function knowledge(run: Run, list: List): Promise<Knowledge> {
  const known = run.known.get(list.name)
  if (known !== undefined) return known
  const recalled = recall(list, await run.mirror.behaviours())
  run.known.set(list.name, run.mode === 'incremental' ? recalled : forgiving(list, recalled))
  return run.known.get(list.name) ?? recalled
}

async function tell(run: Run, stream: StreamName, learned: readonly Behaviour[]): Promise<void> {
  const before = await run.mirror.behaviours()
  for (const { name, value, evidence } of learned) {
    const was = before.get(name)
    if (was === undefined || !contradicts(was, value)) {
      run.log.info({ event: 'behaviour.learned', stream, name, value })
    } else {
      run.log.warn({ event: 'behaviour.changed', stream, name, value, was })
      run.notices.add(
        `The service behaves otherwise than before: ${name} was "${was}" and is "${value}" (${evidence}).`,
      )
    }
  }
}

/** What a page could not show, as gaps of its stream. */
export function gapsOf(stream: StreamName, read: PageRead): Gap[] {
  return read.missed.map(({ range, reason }) => ({
    stream,
    from: range.lo === 0 ? null : range.lo,
    to: range.hi,
    reason,
  }))
}
