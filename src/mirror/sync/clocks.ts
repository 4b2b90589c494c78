/** Clock differences and rows dated in the future: counted for notices. */

import { childStreamNames, isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import { clockToleranceSeconds, presentTime } from '../../values/cursor-limit.ts'
import { type EpochSeconds, rfc3339, type Seconds } from '../../values/time.ts'
import type { SyncRun } from './run.ts'

/** Rows are counted up to this number. */
const maxCounted = 10_000

/** The current time by the clocks and the messages stored so far. */
export async function createPresentTime({ mirror, clocks }: SyncRun): Promise<() => EpochSeconds> {
  const newestMessage = (await mirror.latestMessageTime()) ?? 0
  return () => presentTime({ ...clocks(), newestMessage })
}

/** Remembers rows of a page that are dated in the future. Rows of child streams are counted in the mirror instead. */
export function recordFutureDated({ futureDated }: SyncRun, stream: StreamName, ids: readonly string[]): void {
  if (ids.length === 0 || isChildStream(stream)) return
  const known = futureDated.get(stream) ?? new Set<string>()
  futureDated.set(stream, known)
  for (const id of ids) if (known.size < maxCounted) known.add(id)
}

/** Notices for users after a run. */
export async function clockNotices(run: SyncRun): Promise<string[]> {
  const offset = run.clockOffset()
  const counts = new Map([...run.futureDated].map(([stream, ids]) => [stream, ids.size]))
  for (const stream of childStreamNames) {
    if (!run.streams.has(stream)) continue
    const limit = run.cursorLimit() + clockToleranceSeconds
    counts.set(stream, await run.mirror.countFutureRows(stream, limit, maxCounted))
  }
  const rows = [...counts].filter(([, count]) => count > 0).map(([stream, count]) => futureDatedNotice(stream, count))
  return offset === null || Math.abs(offset) <= clockToleranceSeconds ? rows : [clockOffsetNotice(run, offset), ...rows]
}

function clockOffsetNotice({ now }: SyncRun, offset: Seconds): string {
  const here = Math.floor(now() / 1000)
  const which = `this machine's clock says ${rfc3339(here)}, the service's ${rfc3339(here + offset)}`
  return `The clocks differ: ${which}. No cursor moves beyond the earlier one, so rows may be read again; none is missed.`
}

function futureDatedNotice(stream: StreamName, count: number): string {
  const many = count >= maxCounted ? `${maxCounted} or more` : String(count)
  const are = count === 1 ? `1 row of ${stream} is` : `${many} rows of ${stream} are`
  return `${are} dated in the future. They are stored, and read again until that time, because cursors stay behind them.`
}
