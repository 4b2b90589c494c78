/** How late it is by the service's own rows: no clock says so as surely, neither ours nor that of its answers. */
import { everything, readPosition } from '../core/position.ts'
import type { Seconds } from '../core/time.ts'
import type { Run } from './deps.ts'

/** The latest moment that the lists have shown; 0 = none. Whatever happens from now on does not happen before. */
export async function latestOf(run: Pick<Run, 'mirror'>): Promise<Seconds> {
  const cursors = await Promise.all(['conversations', 'visitors'].map(run.mirror.cursor))
  const ends = cursors.flatMap((cursor) => readPosition(cursor, everything)).filter(({ hi }) => hi === null)
  return Math.max(0, ...ends.map(({ lo }) => lo))
}
