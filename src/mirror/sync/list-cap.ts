/**
 * Messages that a limited list hides: once the lists show that they are limited, those that may
 * lack messages are marked, and a few are read again, as other parameters may reach the rest. If
 * they do, all are read again; also if a longer list shows that there is no limit.
 */

import {
  capReason,
  isCapReason,
  isEndReason,
  isWhole,
  mayBeCut,
  suspectListCap,
} from '../core/list-cap.ts'
import type { PendingParent } from '../core/mirror.ts'
import { listedAtMostText, type PagingProfile } from '../core/pagination/paging-profile.ts'
import { messages } from '../core/streams.ts'
import { commitWithoutRows } from './pages.ts'
import type { SyncRun } from './run.ts'

/** The longest lists of a run that were read whole: their length, and some of them. */
export type LongestLists = { rows: number; parents: PendingParent[] }

const maxParents = 3
/** As many as show whether the longest ones are limited. */
const comparedLists = 300
const batchSize = 500

export function rememberLongest(longest: LongestLists, rows: number, parent: PendingParent): void {
  if (rows > longest.rows) Object.assign(longest, { rows, parents: [] })
  if (rows === longest.rows && longest.parents.length < maxParents) longest.parents.push(parent)
}

/** Stored with a list that was read whole, until its length has been compared with the others. */
export const uncomparedCursor = `${messages.name}:uncompared`

/** How many rows the lists have at most. */
export const limitBehaviour = `${messages.name}.listed_at_most`

/** Of the longest list of which it was asked whether a bound shows more. */
const testedBehaviour = `${messages.name}.ends_tested`

/** A bound has led beyond a page. */
export function isReachable({ support }: PagingProfile): boolean {
  return support.lower === 'honoured' || support.upper === 'honoured'
}

/**
 * After all lists were read: marks those that may lack messages. Returns some of them, to be read
 * again.
 */
export async function findLimitedLists(
  run: SyncRun,
  longest: LongestLists,
): Promise<readonly PendingParent[]> {
  const isUncompared = longest.rows > 0 || (await run.mirror.readCursor(uncomparedCursor)) !== null
  const lists = isUncompared ? await run.mirror.readLongestLists(comparedLists) : []
  const profile = run.profiles.get(messages.name)
  const suspected = suspectListCap(lists)
  const most = suspected ?? profile?.listedAtMost ?? 0
  if (suspected !== null && profile !== undefined && suspected !== profile.listedAtMost) {
    await storeMost(run, profile, suspected)
    await markLimited(run, suspected)
  } else if (most > 0 && profile !== undefined && !isReachable(profile)) {
    await markLimited(run, most)
  }
  if (isUncompared) await run.mirror.writeCursor(uncomparedCursor, null)
  if (most > 0) return most === longest.rows ? longest.parents : []
  const ends = lists
    .filter((list) => list.rows === longest.rows && mayBeCut(list))
    .map(({ parentId }) => parentId)
  const isTested = Number(run.behaviours.get(testedBehaviour) ?? 0) >= longest.rows
  if (ends.length === 0 || isTested || profile === undefined || profile.setsHasMore) return []
  // Only for this reading: nothing else shows yet that there is a limit.
  run.profiles.set(messages.name, { ...profile, listedAtMost: longest.rows })
  return longest.parents.filter(({ parentId }) => ends.includes(parentId)).slice(0, 1)
}

async function storeMost(run: SyncRun, profile: PagingProfile, most: number): Promise<void> {
  run.profiles.set(messages.name, { ...profile, listedAtMost: most })
  const evidence = `the longest lists have ${most} messages, and do not show all of their conversations`
  const observations = [{ name: limitBehaviour, value: String(most), evidence }]
  await commitWithoutRows(run, messages.name, { observations })
}

async function markLimited(run: SyncRun, most: number): Promise<void> {
  for (let after: string | null = null; ; ) {
    const lists = await run.mirror.readCompleteLists(most, after, batchSize)
    const limited = lists.filter((list) => !isWhole(list)).map(({ parentId }) => parentId)
    if (limited.length > 0) await run.mirror.markListsIncomplete(limited, capReason(most))
    after = lists.at(-1)?.parentId ?? null
    if (after === null) return
  }
}

/**
 * `known`: the limit that earlier runs have found. `rows`: of the longest lists, before some of
 * them were read again.
 */
type Before = { readonly known: string | null; readonly rows: number }

/** After some of them were read again. True: others are to be read again now. */
export async function rereadLimitedLists(
  run: SyncRun,
  longest: LongestLists,
  { known, rows }: Before,
): Promise<boolean> {
  const profile = run.profiles.get(messages.name)
  if (profile === undefined) return false
  const { listedAtMost } = profile
  const isStored = run.behaviours.get(limitBehaviour) === listedAtMostText(listedAtMost)
  const isLonger = longest.rows > rows && rows > 0
  if (listedAtMost === rows && !isStored) {
    const evidence = `a list of ${rows} messages ${isLonger ? 'has more' : 'has no more'} beyond a bound`
    const observations = [{ name: testedBehaviour, value: String(rows), evidence }]
    await commitWithoutRows(run, messages.name, { observations })
    if (isLonger) await storeMost(run, profile, rows)
    else run.profiles.set(messages.name, { ...profile, listedAtMost: null })
    if (isLonger) await markLimited(run, rows)
  }
  if (listedAtMost === null || (listedAtMost > 0 && !isReachable(profile) && !isLonger))
    return false
  // Others are read again anyway until they end where they should.
  const isOfLimit = (reason: string) =>
    isCapReason(reason) || (listedAtMostText(listedAtMost) !== known && isEndReason(reason))
  return (await run.mirror.rereadUnlisted(isOfLimit, run.now())) > 0
}
