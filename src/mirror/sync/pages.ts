/** Reads the pages of a list for a sync, with the paging profile that earlier runs have stored. */

import type { Gap, ServiceBehaviour } from '../../../schema/row.ts'
import { isListStream, type StreamName } from '../../../schema/stream-specs.ts'
import { asJsonObject } from '../../values/json.ts'
import type { CommitResult, MirrorCommit } from '../core/mirror.ts'
import type { PagingProfile } from '../core/pagination/paging-profile.ts'
import {
  decodeProfile,
  isBehaviourChange,
  isHasMoreKnownUnreliable,
  mergeProfiles,
  resetUnsupported,
  toForgotten,
  unknownValue,
} from '../core/pagination/paging-profile.ts'
import type { ParsedRows } from '../streams/stream.ts'
import { recordFutureDated } from './clocks.ts'
import { type ListReadOptions, type PageBatch, readList } from './list-reader.ts'
import type { SyncRun } from './run.ts'
import { throwIfAborted } from './stop.ts'

type ListScan = Pick<ListReadOptions, 'list' | 'ranges' | 'priority'> & {
  readonly stream: StreamName
  /** A reconcile that goes on does not ask again for what it has learned. */
  readonly isContinued?: boolean
}

/** The pages of a list. The caller commits each page before it takes the next one. */
export async function* readPages(run: SyncRun, scan: ListScan): AsyncGenerator<PageBatch> {
  const { stream, list, ranges, priority } = scan
  const profile = await loadProfile(run, scan)
  const isList = isListStream(stream)
  // Null: `recordEmptyLists` decides, when all lists have been read. Child lists are read after that.
  const ifNotKnown = isList ? null : true
  const isHasMoreReliableIfEmpty = (await isHasMoreUnreliable(run)) ? false : ifNotKnown
  for await (const batch of readList(run.get, { list, profile, ranges, priority, isHasMoreReliableIfEmpty })) {
    if (batch.observations.length > 0) {
      run.profiles.set(list.name, mergeProfiles(run.profiles.get(list.name) ?? profile, batch.profile))
      await reportObservations(run, stream, batch.observations)
    }
    recordFutureDated(run, stream, batch.futureDatedIds)
    if (isList && isEmptyWithMore(batch)) run.emptyListsWithMore.add(stream)
    yield batch
    throwIfAborted(run.signal)
  }
}

/** Stores the rows of a page with what else it shows, and counts them. */
export async function commitPage(
  run: SyncRun,
  stream: StreamName,
  batch: PageBatch,
  { rows, rejectedRows }: ParsedRows,
  more: Partial<MirrorCommit> = {},
): Promise<CommitResult> {
  const result = await run.mirror.commit({
    stream,
    rows,
    rejectedRows: [...batch.rejectedRows, ...rejectedRows],
    requestedAt: batch.response?.requestedAt ?? run.now(),
    observations: batch.observations,
    ...more,
  })
  run.stats.recordPage(stream, rows.length, result)
  return result
}

/** Of any list, also one that this run has read. */
export async function isHasMoreUnreliable(run: SyncRun): Promise<boolean> {
  if ([...run.profiles.values()].some(({ isHasMoreReliableIfShort }) => isHasMoreReliableIfShort === false)) return true
  return isHasMoreKnownUnreliable(await run.mirror.readBehaviours())
}

function isEmptyWithMore({ response, items, isLastOfResponse, rejectedRows }: PageBatch): boolean {
  const isEmpty = items.length === 0 && rejectedRows.length === 0
  return isLastOfResponse && isEmpty && isHasMoreSet({ response })
}

export function isHasMoreSet({ response }: Pick<PageBatch, 'response'>): boolean {
  return asJsonObject(response?.data)?.hasMore === true
}

/** A reconcile learns anew what an earlier observation may have got wrong, because the service may have changed. */
async function loadProfile(run: SyncRun, { stream, list, isContinued = false }: ListScan): Promise<PagingProfile> {
  const cached = run.profiles.get(list.name)
  if (cached !== undefined) return cached
  const behaviours = await run.mirror.readBehaviours()
  const stored = decodeProfile(list, behaviours)
  const profile = run.mode === 'incremental' || isContinued ? stored : resetUnsupported(list, stored)
  run.profiles.set(list.name, profile)
  // Stored, as what was learned against the service holds for later runs, too, until something shows it anew.
  const observations = toForgotten(list, stored, { ...profile, order: stored.order, ends: stored.ends })
  for (const { name } of observations) run.forgotten.set(name, behaviours.get(name) ?? unknownValue)
  if (observations.length > 0) await run.mirror.commit({ stream, rows: [], requestedAt: run.now(), observations })
  return profile
}

async function reportObservations(run: SyncRun, stream: StreamName, observations: readonly ServiceBehaviour[]) {
  const before = await run.mirror.readBehaviours()
  for (const { name, value, evidence } of observations) {
    const stored = before.get(name)
    const was = stored === unknownValue ? run.forgotten.get(name) : stored
    if (was === undefined || !isBehaviourChange(was, value)) {
      run.log.info({ event: 'behaviour.learned', stream, name, value })
    } else {
      run.log.warn({ event: 'behaviour.changed', stream, name, value, was })
      run.notices.add(`The service's behaviour changed: ${name} was "${was}" and is now "${value}" (${evidence}).`)
    }
  }
}

export function toGaps(stream: StreamName, batch: PageBatch): Gap[] {
  return batch.missedRanges.map(({ range: { lo, hi }, reason }) => ({ stream, from: lo || null, to: hi, reason }))
}
