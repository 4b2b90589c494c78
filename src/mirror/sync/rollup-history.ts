/** How far back the rollups go. The API does not say so; the earliest mirrored row shows it, once the lists are read. */
import { listStreamNames, type StreamName } from '../../../schema/stream-specs.ts'
import type { EpochSeconds } from '../../values/time.ts'
import type { SyncRun } from './run.ts'

export type RollupHistory =
  | { readonly kind: 'known'; readonly from: EpochSeconds }
  /** These lists have never been read completely, so an earlier row may still appear. */
  | { readonly kind: 'waiting'; readonly lists: readonly StreamName[] }
  /** No list can be read. */
  | { readonly kind: 'unknown' }
  /** The lists have been read, and are empty. */
  | { readonly kind: 'empty' }

type HistoryDeps = Pick<SyncRun, 'mirror' | 'mirrored' | 'startDate'>

/** `thisRun`: the read statuses of the lists after the current run, which are not stored yet. */
export async function findRollupHistory(
  { mirror, mirrored, startDate }: HistoryDeps,
  thisRun: ReadonlyMap<StreamName, 'complete' | 'skipped'> = new Map(),
): Promise<RollupHistory> {
  if (startDate !== null) return { kind: 'known', from: startDate }
  const relevantLists = listStreamNames.filter((name) => mirrored.has(name))
  const before = await mirror.readStreamStatuses(relevantLists)
  const latest = new Map([...before, ...thisRun])
  const statusOf = (name: StreamName) => (before.get(name) === 'complete' ? 'complete' : latest.get(name))
  const waiting = relevantLists.filter((name) => !['complete', 'skipped'].includes(statusOf(name) ?? ''))
  if (waiting.length > 0 && (await mirror.readRollups()).length === 0) return { kind: 'waiting', lists: waiting }
  const from = await mirror.earliestTime()
  if (from !== null) return { kind: 'known', from }
  return { kind: relevantLists.some((name) => statusOf(name) === 'complete') ? 'empty' : 'unknown' }
}
