/** The lists of a project: what is new since the cursor, or all of it. */
import type { Lane } from '../core/lane.ts'
import { day } from '../core/time.ts'
import { type Range, readPosition, writePosition } from '../core/walk/position.ts'
import type { ListStream } from '../streams/stream.ts'
import { checkRows } from './check-rows.ts'
import { laneFor, type Run } from './deps.ts'
import { behind } from './look-back.ts'
import { readOpenWork } from './open-work.ts'
import { gapsOf, pagesOf } from './pages.ts'
import { earlier, keepStart, startOf } from './start-date.ts'
import { stopIfEnough } from './stop.ts'
import { settleUnseen } from './vanished.ts'

/** How many of the newest calls are read again by each pass: late ones appear among them. They fit one page. */
const readAgainAtMost = 150

export async function syncList(run: Run, stream: ListStream): Promise<void> {
  if (run.mode !== 'incremental') return readWhole(run, stream)
  const stored = await run.mirror.cursor(stream.name)
  const known = readPosition(stored, startOf(run, stream.name))
  const ranges = stored === null ? known : behind(run, stream.name, known)
  const all =
    stream.name === 'calls' ? [...(await lateCalls(run, ranges)), ...(await earlier(run, stream.name))] : ranges
  await readRanges(run, stream, { cursor: stream.name, ranges: all, lane: laneFor(run, stored === null) })
  await keepStart(run, stream.name)
  if (stream.name !== 'conversations') return
  if (stored !== null) await readOpenWork(run, stream)
  await checkRows(run, stream)
}

/**
 * The whole list, whatever the cursor says, with a census of what it shows. Cut short, it goes on where it was. Its end
 * is the new cursor, and what it did not show is asked for by id.
 */
async function readWhole(run: Run, stream: ListStream): Promise<void> {
  const cursor = `${stream.name}:whole`
  const [stored, since] = await beginning(run, stream, cursor)
  const ranges = readPosition(stored, startOf(run, stream.name))
  await readRanges(run, stream, { cursor, ranges, lane: laneFor(run, false), census: cursor })
  await run.mirror.resolveGaps(stream.name, since)
  await keepStart(run, stream.name)
  await settleUnseen(run, stream, cursor)
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: run.now(), cursors: { [cursor]: null } })
  await run.mirror.forgetCensus(cursor)
}

/** Where a walk through the whole list stands, null = nowhere yet; and when it began, in milliseconds since 1970. */
async function beginning(run: Run, stream: ListStream, cursor: string): Promise<[string | null, number]> {
  const note = `${cursor}:since`
  const stored = run.mode === 'full' ? null : await run.mirror.cursor(cursor)
  if (stored !== null) return [stored, Number((await run.mirror.cursor(note)) ?? 0)]
  await run.mirror.forgetCensus(cursor)
  const since = run.now()
  await run.mirror.commit({ stream: stream.name, rows: [], askedAt: since, cursors: { [note]: String(since) } })
  return [null, since]
}

type Reading = {
  /** The cursor that moves with the pages. */
  readonly cursor: string
  readonly ranges: readonly Range[]
  readonly lane: Lane
  readonly census?: string
}

async function readRanges(run: Run, stream: ListStream, { cursor, ranges, lane, census }: Reading): Promise<void> {
  for await (const read of pagesOf(run, { stream: stream.name, list: stream.list(run.project), ranges, lane })) {
    const { rows, refused } = stream.rows(read.items, run.project)
    const gaps = gapsOf(stream.name, read)
    const at = writePosition(read.position)
    const { changed } = await run.mirror.commit({
      stream: stream.name,
      rows,
      askedAt: read.answer?.askedAt ?? run.now(),
      cursors: read.done ? { [cursor]: at, [stream.name]: at } : { [cursor]: at },
      gaps,
      refused: [...read.refused, ...refused],
      learned: read.learned,
      ...(census === undefined ? {} : { census, authoritative: true }),
    })
    run.tally.stored(stream.name, rows.length, changed)
    if (!read.done) stopIfEnough(run)
  }
}

/** Calls can come late: the open end begins a day earlier, but not so early that it would need another page. */
async function lateCalls(run: Run, ranges: readonly Range[]): Promise<readonly Range[]> {
  const crowded = await run.mirror.callBefore(readAgainAtMost, run.horizon())
  return ranges.map((range) => {
    if (range.hi !== null) return range
    const lo = Math.max(range.lo - day, crowded ?? 0, run.startDate ?? 0)
    return { ...range, lo: Math.min(range.lo, lo) }
  })
}
