/** How far back the rollups go. Nothing in the API says so: it is seen from the rows, once the lists have been read. */
import type { StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { listStreams } from '../streams/catalog.ts'
import type { SyncRun } from './deps.ts'

export type RollupHistory =
  | { readonly kind: 'known'; readonly from: Seconds }
  /** These lists have never been read to their end, so that any row may still be the earliest. */
  | { readonly kind: 'waiting'; readonly lists: readonly StreamName[] }
  /** No row tells, and none will: neither conversations nor visitors nor calls can be read. */
  | { readonly kind: 'unknown' }
  /** The lists have been read, and are empty. */
  | { readonly kind: 'empty' }

type HistoryDeps = Pick<SyncRun, 'mirror' | 'mirrored' | 'startDate'>

/** `here`: how the lists stand after this very run, which the warehouse does not know yet. */
export async function findRollupHistory(
  { mirror, mirrored, startDate }: HistoryDeps,
  thisRun: ReadonlyMap<StreamName, 'ended' | 'skipped'> = new Map(),
): Promise<RollupHistory> {
  if (startDate !== null) return { kind: 'known', from: startDate }
  const relevantLists = listStreams.map(({ name }) => name).filter((name) => mirrored.has(name))
  const before = await mirror.readStreamStandings(relevantLists)
  const stateOf = (name: StreamName) =>
    before.get(name) === 'ended' ? 'ended' : (thisRun.get(name) ?? before.get(name))
  const waiting = relevantLists.filter((name) => !['ended', 'skipped'].includes(stateOf(name) ?? ''))
  if (waiting.length > 0 && (await mirror.rollups()).length === 0) return { kind: 'waiting', lists: waiting }
  const from = await mirror.earliestTime()
  if (from !== null) return { kind: 'known', from }
  return { kind: relevantLists.some((name) => stateOf(name) === 'ended') ? 'empty' : 'unknown' }
}
