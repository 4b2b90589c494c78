/** Clocks that do not agree, and rows that are dated ahead of them: counted, and said. */
import { clockTolerance, presentTime } from '../core/cursor-limit.ts'
import { type ChildStreamName, parentStreams } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import type { SyncRun } from './deps.ts'

/** More than so many rows are not counted. */
const maxCounted = 10_000

/** What time it is, as far as the clocks and the messages stored so far can tell. */
export async function createPresentTime({
  mirror,
  clocks,
}: Pick<SyncRun, 'mirror' | 'clocks'>): Promise<() => Seconds> {
  const newestMessage = (await mirror.latestMessageTime()) ?? 0
  return () => presentTime({ ...clocks(), newestMessage })
}

/** Notes rows of a page as dated ahead. What hangs on a parent is counted in the mirror. */
export function recordFutureDated(
  { futureDated: ahead }: Pick<SyncRun, 'ahead'>,
  stream: StreamName,
  ids: readonly string[],
): void {
  if (ids.length === 0 || stream in parentStreams) return
  const known = ahead.get(stream) ?? new Set<string>()
  ahead.set(stream, known)
  for (const id of ids) if (known.size < maxCounted) known.add(id)
}

/** Sentences for a person, after a run. `heard`: how far the service's clock is ahead; null = no answer has told. */
export async function clockNotices(run: SyncRun, offset: Seconds | null): Promise<string[]> {
  const counts = new Map([...run.futureDated].map(([stream, ids]) => [stream, ids.size]))
  for (const stream of ['messages', 'visitor_activity'] as const satisfies readonly ChildStreamName[]) {
    if (run.streams.has(stream))
      counts.set(stream, await run.mirror.countFutureRows(stream, run.cursorLimit() + clockTolerance, maxCounted))
  }
  const rows = [...counts].filter(([, count]) => count > 0).map(([stream, count]) => futureDatedNotice(stream, count))
  return offset === null || Math.abs(offset) <= clockTolerance ? rows : [clockOffsetNotice(run, offset), ...rows]
}

function clockOffsetNotice({ now }: SyncRun, offset: Seconds): string {
  const here = Math.floor(now() / 1000)
  const which = `this machine's clock says ${rfc3339(here)}, the service's ${rfc3339(here + offset)}`
  return `The clocks do not agree: ${which}. No cursor goes beyond the earlier one, so rows may be read again; none is missed.`
}

function futureDatedNotice(stream: StreamName, count: number): string {
  const many = count >= maxCounted ? `${maxCounted} or more` : String(count)
  const are = count === 1 ? `1 row of ${stream} is` : `${many} rows of ${stream} are`
  return `${are} dated ahead of the clocks. Cursors stay behind them: they are stored, and read again until their time has come.`
}
