/** From a list's pages to the mirror: each page's rows, the cursor and what was learned, in one commit. */

import type { PageBatch } from '../api/list-reader.ts'
import { readList } from '../api/list-reader.ts'
import { parentStreams } from '../core/mirror.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import {
  decodeProfile,
  isBehaviourChange,
  mergeProfiles,
  type PagingProfile,
  resetUnsupported,
} from '../core/pagination/paging-profile.ts'
import type { TimeRange } from '../core/pagination/pending-ranges.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { Gap, ServiceBehaviour, StreamName } from '../core/row.ts'
import { recordFutureDated } from './clocks.ts'
import type { SyncRun } from './deps.ts'
import { throwIfAborted } from './stop.ts'

export type ListScan = {
  readonly stream: StreamName
  readonly list: ListEndpoint
  readonly ranges: readonly TimeRange[]
  readonly priority: Priority
}

/** The pages of a list, each to be committed before the next is asked for. */
export async function* readPages(
  run: SyncRun,
  { stream, list, ranges, priority: lane }: ListScan,
): AsyncGenerator<PageBatch> {
  const known = await loadProfile(run, list)
  const isList = !(stream in parentStreams)
  const habit = (await alwaysSaysMore(run)) || (isList ? null : false)
  for await (const read of readList(run.get, { list, profile: known, ranges, priority: lane, alwaysHasMore: habit })) {
    if (read.observations.length > 0) {
      run.profiles.set(list.name, mergeProfiles(run.profiles.get(list.name) ?? known, read.profile))
      await reportLearned(run, stream, read.observations)
    }
    recordFutureDated(run, stream, read.idsDatedAhead)
    if (isList && isEmptyWithMore(read)) run.emptyListsWithMore.add(stream)
    yield read
    throwIfAborted(run.signal)
  }
}

/** Whether some list of the service is known to say of its last page that there is more. */
export async function alwaysSaysMore(run: SyncRun): Promise<boolean> {
  if ([...run.profiles.values()].some(({ isHasMoreExact: exact }) => exact === false)) return true
  return [...(await run.mirror.behaviours())].some(
    ([name, value]) => name.endsWith('.has_more') && value === 'not exact',
  )
}

/** Nothing, and more behind it. */
function isEmptyWithMore({ answer, items, isLastOfAnswer: ends, refused }: PageBatch): boolean {
  const { hasMore = false } = (answer?.data ?? {}) as { readonly hasMore?: unknown }
  return ends && items.length === 0 && refused.length === 0 && hasMore === true
}

/** A reconcile tries again what did not work: the service may have changed. */
async function loadProfile(run: SyncRun, list: ListEndpoint): Promise<PagingProfile> {
  const cached = run.profiles.get(list.name)
  if (cached !== undefined) return cached
  const stored = decodeProfile(list, await run.mirror.behaviours())
  run.profiles.set(list.name, run.mode === 'incremental' ? stored : resetUnsupported(list, stored))
  return run.profiles.get(list.name) ?? stored
}

async function reportLearned(run: SyncRun, stream: StreamName, learned: readonly ServiceBehaviour[]): Promise<void> {
  const before = await run.mirror.behaviours()
  for (const { name, value, evidence } of learned) {
    const was = before.get(name)
    if (was === undefined || !isBehaviourChange(was, value)) {
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
export function toGaps(stream: StreamName, read: PageBatch): Gap[] {
  return read.missedRanges.map(({ range, reason }) => ({
    stream,
    from: range.lo === 0 ? null : range.lo,
    to: range.hi,
    reason,
  }))
}
