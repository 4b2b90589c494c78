/** Rows that a list did not show: each is asked for by its id, and gone only if the service says so. */

import { toListShape } from '../core/list-shape.ts'
import type { Priority } from '../core/rate-limit/priority.ts'
import type { MirrorRow, StreamName } from '../core/row.ts'
import type { ListStream } from '../streams/stream.ts'
import { priorityFor, type SyncRun } from './deps.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { isNotFound, throwIfAborted, unreadableRowReason } from './stop.ts'

/** More than this share of a table, and more than so many rows, vanish by a fault sooner than by intent. */
const massDeletionLimits = { share: 0.25, rows: 25 }

const batchSize = 100
const concurrency = 8

/** Noted while so much of a list is missing that a person has to look first: until then nothing of it is marked as gone. */
const massDeletionCursor = (stream: StreamName) => `${stream}:doubted`

/** What reading rows by their ids takes. */
export type RereadDeps = Pick<SyncRun, 'project' | 'mode' | 'get' | 'mirror' | 'tally' | 'now' | 'signal'>

/** Marks a row that the service answered 404 for. False: not now, as its list is in doubt. */
export async function markRowDeleted(
  run: Pick<RereadDeps, 'mode' | 'mirror' | 'now'>,
  stream: ListStream['name'],
  id: string,
): Promise<boolean> {
  if (run.mode !== 'full' && (await run.mirror.readCursor(massDeletionCursor(stream))) !== null) return false
  await run.mirror.markDeleted(stream, id, run.now())
  return true
}

function recordMassDeletion(run: SyncRun, stream: ListStream['name'], doubt: string | null): Promise<unknown> {
  return run.mirror.commit({ stream, rows: [], askedAt: run.now(), cursors: { [massDeletionCursor(stream)]: doubt } })
}

/** After a whole list: reads what it did not show, and marks what is gone. */
export async function resolveUnseenRows(run: SyncRun, stream: ListStream, seenRowsKey: string): Promise<void> {
  const { unseen, living } = await run.mirror.countUnseenRows(stream.name, seenRowsKey, 'all')
  const isSuspicious = unseen > massDeletionLimits.rows && unseen > living * massDeletionLimits.share
  const isDoubted = isSuspicious && run.mode !== 'full'
  await recordMassDeletion(run, stream.name, isDoubted ? String(unseen) : null)
  if (isDoubted) {
    const what = `${unseen} of ${living} mirrored ${stream.name} were not listed by the service any more`
    run.notices.add(`${what}. Nothing was marked as deleted. If that is right, run \`deskmirror sync --mode full\`.`)
    run.stats.fail(stream.name, what)
    return
  }
  run.stats.setRemaining(stream.name, unseen)
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.unseen(stream.name, seenRowsKey, 'all', after, batchSize)
    if (ids.length === 0) return
    await rereadByIds(run, stream, ids, priorityFor(run, false))
    after = ids.at(-1) ?? null
  }
}

/** Reads rows by their ids: stores those that are there (`row` null: unreadable or gone) and marks those that are not. */
export function rereadByIds(
  run: RereadDeps,
  stream: ListStream,
  ids: readonly string[],
  lane: Priority,
): Promise<{ row: MirrorRow | null }[]> {
  const ask = async (id: string) => run.get(stream.rowPath(run.projectId, id), {}, lane)
  const read = async (id: string) => {
    throwIfAborted(run.signal)
    const answer = await ask(id).catch(async (error) => {
      if (isNotFound(error)) return null
      const why = unreadableRowReason(error)
      if (why === null) throw error
      await run.mirror.commit({ stream: stream.name, rows: [], refused: [{ id, why }], askedAt: run.now() })
      return 'unreadable'
    })
    if (answer === 'unreadable') return { row: null }
    if (answer === null) {
      if (await markRowDeleted(run, stream.name, id)) run.stats.recordPage(stream.name, 0, 1)
      return { row: null }
    }
    const stored = (await run.mirror.rawOf(stream.name, [id])).get(id)
    const { rows, refused } = stream.parseRows([toListShape(stored, answer.data)], run.projectId)
    const commit = { stream: stream.name, rows, refused, askedAt: answer.askedAt, authoritative: true }
    run.stats.recordPage(stream.name, rows.length, (await run.mirror.commit(commit)).changed)
    return { row: rows[0] ?? null }
  }
  return mapConcurrently(ids, concurrency, read)
}
