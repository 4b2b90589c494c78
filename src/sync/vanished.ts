/** Rows that a list did not show: each is asked for by its id, and gone only if the service says so. */
import type { Lane } from '../core/lane.ts'
import type { MirrorRow, StreamName } from '../core/row.ts'
import { inShapeOf } from '../core/shape.ts'
import type { ListStream } from '../streams/stream.ts'
import { laneFor, type Run } from './deps.ts'
import { sideBySide } from './side-by-side.ts'
import { isGone, stopIfAsked, whyUnreadable } from './stop.ts'

/** More than this share of a table, and more than so many rows, vanish by a fault sooner than by intent. */
const suspicious = { share: 0.25, rows: 25 }

const portion = 100
const atOnce = 8

/** Noted while so much of a list is missing that a person has to look first: until then nothing of it is marked as gone. */
const doubtOf = (stream: StreamName) => `${stream}:doubted`

/** What reading rows by their ids takes. */
export type Reading = Pick<Run, 'project' | 'mode' | 'get' | 'mirror' | 'tally' | 'now' | 'signal'>

/** Marks a row that the service answered 404 for. False: not now, as its list is in doubt. */
export async function markGone(
  run: Pick<Reading, 'mode' | 'mirror' | 'now'>,
  stream: ListStream['name'],
  id: string,
): Promise<boolean> {
  if (run.mode !== 'full' && (await run.mirror.cursor(doubtOf(stream))) !== null) return false
  await run.mirror.markDeleted(stream, id, run.now())
  return true
}

function noteDoubt(run: Run, stream: ListStream['name'], doubt: string | null): Promise<unknown> {
  return run.mirror.commit({ stream, rows: [], askedAt: run.now(), cursors: { [doubtOf(stream)]: doubt } })
}

/** After a whole list: reads what it did not show, and marks what is gone. */
export async function settleUnseen(run: Run, stream: ListStream, census: string): Promise<void> {
  const { unseen, living } = await run.mirror.countUnseen(stream.name, census, 'all')
  const many = unseen > suspicious.rows && unseen > living * suspicious.share
  const doubted = many && run.mode !== 'full'
  await noteDoubt(run, stream.name, doubted ? String(unseen) : null)
  if (doubted) {
    const what = `${unseen} of ${living} mirrored ${stream.name} were not listed by the service any more`
    run.notices.add(`${what}. Nothing was marked as deleted. If that is right, run \`deskmirror sync --mode full\`.`)
    run.tally.fail(stream.name, what)
    return
  }
  run.tally.left(stream.name, unseen)
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.unseen(stream.name, census, 'all', after, portion)
    if (ids.length === 0) return
    await readAgain(run, stream, ids, laneFor(run, false))
    after = ids.at(-1) ?? null
  }
}

/** Reads rows by their ids: stores those that are there (`row` null: unreadable or gone) and marks those that are not. */
export function readAgain(
  run: Reading,
  stream: ListStream,
  ids: readonly string[],
  lane: Lane,
): Promise<{ row: MirrorRow | null }[]> {
  const ask = async (id: string) => run.get(stream.one(run.project, id), {}, lane)
  const read = async (id: string) => {
    stopIfAsked(run.signal)
    const answer = await ask(id).catch(async (error) => {
      if (isGone(error)) return null
      const why = whyUnreadable(error)
      if (why === null) throw error
      await run.mirror.commit({ stream: stream.name, rows: [], refused: [{ id, why }], askedAt: run.now() })
      return 'unreadable'
    })
    if (answer === 'unreadable') return { row: null }
    if (answer === null) {
      if (await markGone(run, stream.name, id)) run.tally.stored(stream.name, 0, 1)
      return { row: null }
    }
    const stored = (await run.mirror.rawOf(stream.name, [id])).get(id)
    const { rows, refused } = stream.rows([inShapeOf(stored, answer.data)], run.project)
    const commit = { stream: stream.name, rows, refused, askedAt: answer.askedAt, authoritative: true }
    run.tally.stored(stream.name, rows.length, (await run.mirror.commit(commit)).changed)
    return { row: rows[0] ?? null }
  }
  return sideBySide(ids, atOnce, read)
}
