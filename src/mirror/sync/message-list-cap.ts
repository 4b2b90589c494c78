/**
 * Messages that a limited list hides: lists that may lack some are marked. If a longer one shows
 * that there is no limit, or a bound reaches the rest, they are read again.
 */

import {
  capReason,
  isCapReason,
  isEndReason,
  isWhole,
  mayBeLimit,
  suspectListCap,
} from '../core/message-list-cap.ts'
import { listedAtMostText, type PagingProfile } from '../core/pagination/paging-profile.ts'
import { messages } from '../core/streams.ts'
import { commitWithoutRows } from './pages.ts'
import type { SyncRun } from './run.ts'

/** As many as show whether the longest ones are limited. */
const comparedLists = 300
const batchSize = 500

/** Stored with a list that was read whole, until its length has been compared with the others. */
export const uncomparedCursor = `${messages.name}:uncompared`

/** How many rows the lists have at most. */
export const limitBehaviour = `${messages.name}.listed_at_most`

/** A bound has led beyond a page. */
export function isReachable({ support }: PagingProfile): boolean {
  return support.lower === 'honoured' || support.upper === 'honoured'
}

/** After all lists were read: marks those that may lack messages. `longest`: rows, in this run. */
export async function markLimitedLists(run: SyncRun, longest: number): Promise<void> {
  const isUncompared = longest > 0 || (await run.mirror.readCursor(uncomparedCursor)) !== null
  const lists = isUncompared ? await run.mirror.readLongestLists(comparedLists) : []
  const profile = run.profiles.get(messages.name)
  if (profile !== undefined) {
    const most = suspectListCap(lists) ?? profile.listedAtMost ?? 0
    const isNew = most > 0 && most !== profile.listedAtMost
    if (isNew) await storeMost(run, profile, most)
    // If `hasMore` is never set, nothing tells whether the longest list ends there.
    const doubtful = most === 0 && !profile.setsHasMore && mayBeLimit(longest) ? longest : most
    if (isNew || (doubtful > 0 && !isReachable(profile))) await markLimited(run, doubtful)
  }
  if (isUncompared) await run.mirror.writeCursor(uncomparedCursor, null)
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

/** `known`: the limit that earlier runs found. True: some are to be read again now. */
export async function rereadLimitedLists(run: SyncRun, known: string | null): Promise<boolean> {
  const profile = run.profiles.get(messages.name)
  if (profile === undefined || profile.listedAtMost === null) return false
  if (profile.listedAtMost > 0 && !isReachable(profile)) return false
  const isChanged = listedAtMostText(profile.listedAtMost) !== known
  // Others are read again anyway until they end where they should.
  const isOfLimit = (reason: string) => isCapReason(reason) || (isChanged && isEndReason(reason))
  return (await run.mirror.rereadUnlisted(isOfLimit, run.now())) > 0
}
