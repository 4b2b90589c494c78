/** Rows that a list did not show are requested by their ids, and marked as deleted only if the service answers 404. */

import type { MirrorRow } from '../../../schema/row.ts'
import type { ListStreamName } from '../../../schema/stream-specs.ts'
import { isNotFound, unreadableRowReason } from '../../service/core/api-failure.ts'
import { listOnlyFields, toListShape } from '../../service/core/list-shape.ts'
import type { Priority } from '../../service/core/priority.ts'
import { describeMassDeletion, isMassDeletion, massDeletionGapKey } from '../core/mass-deletion.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import { gapReasons } from '../core/pagination/reading.ts'
import type { ListStream } from '../streams/stream.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { priorityFor, type SyncRun } from './run.ts'
import { throwIfAborted } from './stop.ts'

const batchSize = 100
const concurrency = 8

/** How many conversations a run rechecks; the others stay marked for the next one. */
const maxRechecks = 400

export type RereadDeps = Pick<SyncRun, 'projectId' | 'mode' | 'get' | 'mirror' | 'stats' | 'notices' | 'now' | 'signal'>

/** Marks a row that the service answered 404 for. Null: marked; else why a fault is likelier than so many deletions. */
export async function markRowDeleted(run: RereadDeps, stream: ListStreamName, id: string): Promise<string | null> {
  const doubt = await run.mirror.markDeleted(stream, id, run.now(), run.mode === 'full')
  if (doubt !== null) run.notices.add(doubt)
  return doubt
}

/** After a complete read of a list: requests the rows that it did not show, and marks the deleted ones. */
export async function resolveUnseenRows(run: SyncRun, stream: ListStream, seenRowsKey: string): Promise<void> {
  const { name } = stream
  const { unseen, living } = await run.mirror.countUnseenRows(name, seenRowsKey, 'all')
  const isDoubted = run.mode !== 'full' && isMassDeletion(unseen, living)
  const reason = describeMassDeletion(name, unseen, living)
  const doubt = { stream: name, from: null, to: null, reason, dedupKey: massDeletionGapKey }
  const found = isDoubted ? { gaps: [doubt] } : { resolvedGapKeys: [massDeletionGapKey] }
  await run.mirror.commit({ stream: name, rows: [], requestedAt: run.now(), ...found })
  if (isDoubted) {
    run.notices.add(reason)
    return run.stats.fail(name, reason)
  }
  run.stats.setRemaining(stream.name, unseen)
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.listUnseenRows(stream.name, seenRowsKey, 'all', after, batchSize)
    if (ids.length === 0) return
    const rows = await rereadByIds(run, stream, ids, priorityFor(run, false))
    if (rows.some((row) => row !== null && isOutsideAllBounds(run, stream, row))) {
      const gaps = [{ stream: name, from: null, to: null, reason: gapReasons.bounded }]
      await run.mirror.commit({ stream: name, rows: [], requestedAt: run.now(), gaps })
    }
    after = ids.at(-1) ?? null
  }
}

/** The list shows no row without a time, and nothing on it shows whether there are any. */
export function needsBothBounds(run: SyncRun, name: ListStreamName): boolean {
  return run.profiles.get(name)?.requiresBothBounds === true
}

/** It lacks a time by which the list may be sorted, so a request with bounds may leave it out. */
function isOutsideAllBounds(run: SyncRun, { name, list }: ListStream, { item }: MirrorRow): boolean {
  const times = list(run.projectId).times(item)
  const fields = run.profiles.get(name)?.order?.fields ?? []
  return needsBothBounds(run, name) && fields.some((field) => !times.has(field))
}

/**
 * Reads the conversations that a list showed with an earlier last message than the mirror has. The list's copy may be
 * stale, or a message may be dated before its predecessor; only the row itself shows which.
 */
export async function recheckRows(run: SyncRun, stream: ListStream): Promise<void> {
  const ids = await run.mirror.listRowsToRecheck(maxRechecks)
  if (ids.length === 0) return
  await rereadByIds(run, stream, ids, 'fresh')
  await run.mirror.clearRecheck(ids)
}

/** Reads rows by their ids, stores those that exist, and marks the others. Null: unreadable or deleted. */
export function rereadByIds(run: RereadDeps, stream: ListStream, ids: readonly string[], priority: Priority) {
  const request = async (id: string) => run.get(stream.rowPath(run.projectId, id), {}, priority)
  const recordUnreadable = async (id: string, error: unknown): Promise<null> => {
    if (isNotFound(error)) {
      const doubt = await markRowDeleted(run, stream.name, id)
      if (doubt === null) run.stats.recordPage(stream.name, 0, { changed: 1 })
      else run.stats.fail(stream.name, doubt)
      return null
    }
    const why = unreadableRowReason(error)
    if (why === null) throw error
    const commit = { stream: stream.name, rows: [], rejectedRows: [{ id, why }], requestedAt: run.now() }
    run.stats.recordPage(stream.name, 0, await run.mirror.commit(commit))
    return null
  }
  const read = async (id: string): Promise<MirrorRow | null> => {
    throwIfAborted(run.signal)
    const response = await request(id).catch((error) => recordUnreadable(id, error))
    if (response === null) return null
    const stored = (await run.mirror.readRawById(stream.name, [id])).get(id)
    const { data, requestedAt } = response
    const listOnly = listOnlyFields(await run.mirror.readBehaviours(), stream.name)
    const { rows, rejectedRows } = stream.parseRows([toListShape(stored, data, listOnly)], run.projectId)
    const commit: MirrorCommit = { stream: stream.name, rows, rejectedRows, requestedAt, isAuthoritative: true }
    run.stats.recordPage(stream.name, rows.length, await run.mirror.commit(commit))
    return rows[0] ?? null
  }
  return mapConcurrently(ids, concurrency, read)
}
