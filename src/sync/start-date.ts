/** How far back a stream goes, and what is left to read when somebody moves that further back. */

import type { MirrorRow, StreamName } from '../core/row.ts'
import { moment, rfc3339 } from '../core/time.ts'
import { everything, type Range } from '../core/walk/position.ts'
import type { Run } from './deps.ts'

/** The streams that can be large and old. Rollups are read by days that are missing, and need no note. */
const dated: ReadonlySet<StreamName> = new Set(['calls', 'visitor_activity'])

/** All that a stream is to hold. */
export function startOf(run: Run, stream: StreamName): Range {
  return dated.has(stream) ? { ...everything, lo: run.startDate ?? 0 } : everything
}

/** The time before what earlier passes went back to, if this one is to go further back. */
export async function earlier(run: Run, stream: StreamName): Promise<readonly Range[]> {
  const { lo } = startOf(run, stream)
  const reached = moment(await run.mirror.cursor(noteOf(stream)))
  return reached === undefined || lo >= reached ? [] : [{ lo, hi: reached }]
}

/** Whether a row is older than what the project is to hold: a page may reach further back than was asked for. */
export function isEarlier({ startDate }: Pick<Run, 'startDate'>, { columns }: MirrorRow): boolean {
  const at = moment(columns.occurred_at)
  return startDate !== null && at !== undefined && at < startDate
}

/** Notes how far back the stream has been read, now that it has. */
export async function keepStart(run: Run, stream: StreamName): Promise<void> {
  if (!dated.has(stream)) return
  const name = noteOf(stream)
  const reached = moment(await run.mirror.cursor(name))
  const { lo } = startOf(run, stream)
  if (reached !== undefined && reached <= lo) return
  await run.mirror.commit({ stream, rows: [], askedAt: run.now(), cursors: { [name]: rfc3339(lo) } })
}

const noteOf = (stream: StreamName) => `${stream}:start`
