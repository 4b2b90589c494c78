/** Clocks that do not agree, and rows that are dated ahead of them: counted, and said. */
import { presentTime, tolerated } from '../core/horizon.ts'
import { type ChildStream, childStreams } from '../core/mirror.ts'
import type { StreamName } from '../core/row.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import type { Run } from './deps.ts'

/** More than so many rows are not counted. */
const most = 10_000

/** What time it is, as far as the clocks and the messages stored so far can tell. */
export async function presentOf({ mirror, clocks }: Pick<Run, 'mirror' | 'clocks'>): Promise<() => Seconds> {
  const newestMessage = (await mirror.latestMessage()) ?? 0
  return () => presentTime({ ...clocks(), newestMessage })
}

/** Notes rows of a page as dated ahead. What hangs on a parent is counted in the mirror. */
export function noteAhead({ ahead }: Pick<Run, 'ahead'>, stream: StreamName, ids: readonly string[]): void {
  if (ids.length === 0 || stream in childStreams) return
  const known = ahead.get(stream) ?? new Set<string>()
  ahead.set(stream, known)
  for (const id of ids) if (known.size < most) known.add(id)
}

/** Sentences for a person, after a run. `heard`: how far the service's clock is ahead; null = no answer has told. */
export async function clockNotices(run: Run, heard: Seconds | null): Promise<string[]> {
  const counts = new Map([...run.ahead].map(([stream, ids]) => [stream, ids.size]))
  for (const stream of ['messages', 'visitor_activity'] as const satisfies readonly ChildStream[]) {
    if (run.streams.has(stream))
      counts.set(stream, await run.mirror.countAhead(stream, run.horizon() + tolerated, most))
  }
  const rows = [...counts].filter(([, count]) => count > 0).map(([stream, count]) => aheadNotice(stream, count))
  return heard === null || Math.abs(heard) <= tolerated ? rows : [differenceNotice(run, heard), ...rows]
}

function differenceNotice({ now }: Run, heard: Seconds): string {
  const here = Math.floor(now() / 1000)
  const which = `this machine's clock says ${rfc3339(here)}, the service's ${rfc3339(here + heard)}`
  return `The clocks do not agree: ${which}. No cursor goes beyond the earlier one, so rows may be read again; none is missed.`
}

function aheadNotice(stream: StreamName, count: number): string {
  const many = count >= most ? `${most} or more` : String(count)
  const are = count === 1 ? `1 row of ${stream} is` : `${many} rows of ${stream} are`
  return `${are} dated ahead of the clocks. Cursors stay behind them: they are stored, and read again until their time has come.`
}
