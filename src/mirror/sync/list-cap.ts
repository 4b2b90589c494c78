/**
 * Messages that a limited list hides: once the lists show that they are limited, those that may lack messages are marked, and
 * a few are read again, as other parameters may reach the rest. If they do, all are read again; also if a longer list shows
 * that there is no limit.
 */

import { capReason, isCapReason, showsBeginning, suspectListCap } from '../core/list-cap.ts'
import type { PendingParent } from '../core/mirror.ts'
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

/** After all lists were read: marks those that may lack messages. Returns some of them, to be read again. */
export async function findLimitedLists(run: SyncRun, longest: LongestLists): Promise<readonly PendingParent[]> {
  const profile = run.profiles.get(messages.name)
  if (profile === undefined) return []
  const suspected = longest.rows === 0 ? null : suspectListCap(await run.mirror.readLongestLists(comparedLists))
  const most = suspected ?? profile.listedAtMost ?? 0
  if (most === 0) return []
  if (most !== profile.listedAtMost) {
    run.profiles.set(messages.name, { ...profile, listedAtMost: most })
    const evidence = `the longest lists all have ${most} messages, and do not show how their conversations began`
    const observations = [{ name: `${messages.name}.listed_at_most`, value: String(most), evidence }]
    await commitWithoutRows(run, messages.name, { observations })
  }
  await markLimited(run, most)
  return most === longest.rows ? longest.parents : []
}

async function markLimited(run: SyncRun, most: number): Promise<void> {
  for (let after: string | null = null; ; ) {
    const lists = await run.mirror.readCompleteLists(most, after, batchSize)
    const limited = lists.filter((list) => !showsBeginning(list)).map(({ parentId }) => parentId)
    if (limited.length > 0) await run.mirror.markListsIncomplete(limited, capReason(most))
    after = lists.at(-1)?.parentId ?? null
    if (after === null) return
  }
}

/** After some of them were read again. */
export async function rereadLimitedLists(run: SyncRun): Promise<void> {
  const profile = run.profiles.get(messages.name)
  if (profile === undefined) return
  const { listedAtMost, support } = profile
  const isReachable = support.lower === 'honoured' || support.upper === 'honoured'
  if (listedAtMost === null || (listedAtMost > 0 && !isReachable)) return
  await run.mirror.rereadUnlisted(isCapReason, run.now())
}
