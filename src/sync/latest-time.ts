/** How late it is by the service's own rows, as far as the clocks agree that it is so late at all. */

import { allTime, readPendingRanges } from '../core/pagination/pending-ranges.ts'
import type { Seconds } from '../core/time.ts'
import type { SyncRun } from './deps.ts'

/**
 * The latest moment that anything read so far has shown; 0 = none. Whatever happens from now on does not happen before.
 * What visitors do is not asked: its times may be their browsers'.
 */
export async function latestSeenTime({
  mirror,
  cursorLimit: horizon,
}: Pick<SyncRun, 'mirror' | 'horizon'>): Promise<Seconds> {
  const cursors = await Promise.all(['conversations', 'visitors'].map(mirror.readCursor))
  const ends = cursors.flatMap((cursor) => readPendingRanges(cursor, allTime)).filter(({ hi }) => hi === null)
  const shown = Math.max(0, (await mirror.latestMessageTime()) ?? 0, ...ends.map(({ lo }) => lo))
  // A row that is dated ahead does not tell how late it is.
  return Math.min(shown, horizon())
}
