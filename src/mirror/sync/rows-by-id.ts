/**
 * Rows that are requested by their ids: a list did not show them, or showed them older than they
 * are here. Only a 404 marks them as deleted.
 */

import type { MirrorRow } from '../../../schema/row.ts'
import { childStreamsOf, type ListStreamName } from '../../../schema/stream-specs.ts'
import {
  describeFailure,
  failureOfKind,
  isNotFound,
  isRefused,
  isUnreadable,
  throwIfAborted,
  unreadableRowReason,
} from '../../service/core/api-failure.ts'
import type { Priority } from '../../service/core/api-request.ts'
import { listOnlyFields, toListShape } from '../../service/core/row-by-id-shape.ts'
import {
  describeMassDeletion,
  isMassDeletion,
  unlistedRowsGapKey,
  untimedGap,
} from '../core/mirror.ts'
import { gapReasons } from '../core/pagination/reading-state.ts'
import type { ListStream } from '../core/stream-kinds.ts'
import { mapConcurrently } from './concurrency.ts'
import { commitWithoutRows } from './pages.ts'
import { priorityFor, type SyncRun } from './run.ts'

const batchSize = 100
const concurrency = 8

/** How many conversations a run rechecks; the others stay marked for the next one. */
const maxRechecks = 400

/** After a 404. False: a fault is likelier than so many deletions; a gap and a notice say so. */
export async function markRowDeleted(
  run: SyncRun,
  stream: ListStreamName,
  id: string,
): Promise<boolean> {
  const doubt = await run.mirror.markDeleted(stream, id, run.now(), run.mode === 'full')
  if (doubt !== null) run.notices.add(doubt)
  return doubt === null
}

/** After a complete read of a list: requests what it did not show, and marks what is deleted. */
export async function resolveUnseenRows(
  run: SyncRun,
  stream: ListStream,
  seenRowsKey: string,
): Promise<void> {
  const { name } = stream
  const isIncomplete = await isKnownIncomplete(run, name)
  const { unseen, living } = await run.mirror.countUnseenRows(name, seenRowsKey, 'all')
  // Of a list that does not show all rows, many that it does not show are no sign of a fault.
  if (run.mode !== 'full' && !isIncomplete && isMassDeletion(unseen, living)) {
    const reason = describeMassDeletion(name, unseen, living)
    await run.mirror.doubtUnseenRows(name, seenRowsKey, reason)
    run.notices.add(reason)
    return
  }
  await run.mirror.endDeletionDoubt(name)
  run.stats.setRemaining(name, unseen)
  const unlisted = startUnlistedCount(run, stream)
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.listUnseenRows(name, seenRowsKey, 'all', after, batchSize)
    if (ids.length === 0) break
    const rows = await readByIds(run, stream, ids, priorityFor(run, false))
    unlisted.add(rows)
    if (rows.some((row) => typeof row === 'object' && isOutsideAllBounds(run, stream, row)))
      await commitWithoutRows(run, name, { gaps: [untimedGap(name, gapReasons.bounded)] })
    after = ids.at(-1) ?? null
  }
  if (!unlisted.isProof()) {
    if (isIncomplete) await commitWithoutRows(run, name, { resolvedGapKeys: [unlistedRowsGapKey] })
    return
  }
  // A gap that is open says already that rows are missing.
  if ((await run.mirror.listOpenGaps(name)).length === 0) await recordIncomplete(run, name)
}

/** So many do not change places while a list is read. */
const minUnlisted = 3

/** Counts rows that exist although a complete read of their list did not show them. */
export function startUnlistedCount(run: SyncRun, { name, list }: ListStream) {
  const { times } = list(run.projectId)
  const fields = run.profiles.get(name)?.order?.fields ?? []
  const latest = run.cursorLimit() - run.lookBackSeconds
  let [settled, undated] = [0, 0]
  const addRow = ({ item }: MirrorRow) => {
    const shown = times(item)
    // A list that showed no row with a time has shown no order.
    const names = fields.length > 0 ? fields : [...shown.keys()]
    const known = names.flatMap((name) => shown.get(name) ?? [])
    if (known.length < Math.max(1, names.length)) undated += 1
    else if (known.every((time) => time < latest)) settled += 1
  }
  return {
    add: (rows: readonly (MirrorRow | string)[]) => {
      for (const row of rows) if (typeof row === 'object') addRow(row)
    },
    /** One without a time has no place in the order that it could have changed meanwhile. */
    isProof: () => undated > 0 || settled >= minUnlisted,
  }
}

export async function isKnownIncomplete(
  { mirror }: SyncRun,
  name: ListStreamName,
): Promise<boolean> {
  const gaps = await mirror.listOpenGaps(name)
  return gaps.some(({ dedupKey }) => dedupKey === unlistedRowsGapKey)
}

export async function recordIncomplete(run: SyncRun, name: ListStreamName): Promise<void> {
  const reason = `the service does not list all ${name}: some that exist were missing`
  await commitWithoutRows(run, name, { gaps: [untimedGap(name, reason, unlistedRowsGapKey)] })
}

/** The list shows no row without a time, and nothing on it shows whether there are any. */
export function needsBothBounds(run: SyncRun, name: ListStreamName): boolean {
  return run.profiles.get(name)?.requiresBothBounds === true
}

/** It lacks a time by which the list may be sorted, so a request with bounds may leave it out. */
function isOutsideAllBounds(
  run: SyncRun,
  { name, list }: ListStream,
  { item }: MirrorRow,
): boolean {
  const times = list(run.projectId).times(item)
  const fields = run.profiles.get(name)?.order?.fields ?? []
  return needsBothBounds(run, name) && fields.some((field) => !times.has(field))
}

/**
 * A list showed them with an earlier last message: a stale copy, or a message that is dated back.
 */
export async function recheckRows(run: SyncRun, stream: ListStream): Promise<void> {
  const ids = await run.mirror.listRowsToRecheck(maxRechecks)
  if (ids.length === 0) return
  await readByIds(run, stream, ids, 'fresh')
  await run.mirror.clearRecheck(ids)
}

async function hasUnreadable({ mirror }: SyncRun, name: ListStreamName): Promise<boolean> {
  const gaps = await mirror.listOpenGaps(name)
  return gaps.some(({ reason }) => reason === gapReasons.unreadable)
}

/** If more rows of one batch are answered so, it is not about the rows. */
const maxFailed = 8

/**
 * Stores the rows that exist, and marks those that are deleted. One that cannot be read is a gap, as
 * the others would wait for it for ever.
 */
export async function readByIds(
  run: SyncRun,
  stream: ListStream,
  ids: readonly string[],
  priority: Priority,
): Promise<(MirrorRow | 'deleted' | 'unreadable')[]> {
  const { name } = stream
  const failed = new Map<string, string>()
  const reject = async (id: string, why: string) => {
    const commit = { stream: name, rows: [], rejectedRows: [{ id, why }], requestedAt: run.now() }
    run.stats.recordPage(name, 0, await run.mirror.commit(commit))
  }
  const recordFailure = async (id: string, error: unknown) => {
    if (isNotFound(error)) {
      if (await markRowDeleted(run, name, id)) run.stats.recordPage(name, 0, { changed: 1 })
      return 'deleted' as const
    }
    if (isUnreadable(error) && (await hasUnreadable(run, name))) {
      // The gap where a list has it tells of it, but nothing shows whether its children changed.
      for (const child of childStreamsOf(name))
        await run.mirror.markChildrenPending(child, [id], run.now())
      return 'unreadable' as const
    }
    const why = unreadableRowReason(error)
    const failure = failureOfKind(error, 'transient')
    if (why !== null) await reject(id, why)
    else if (failure !== null && failed.size < maxFailed) failed.set(id, describeFailure(failure))
    else throw error
    return 'unreadable' as const
  }
  const rows = await mapConcurrently(ids, concurrency, async (id) => {
    throwIfAborted(run.signal)
    // An id that cannot be requested is thrown here, too.
    const request = async () => run.get(name, stream.rowPath(run.projectId, id), {}, priority)
    const response = await request().catch((error) => recordFailure(id, error))
    if (typeof response === 'string') return response
    const stored = (await run.mirror.readRawById(name, [id])).get(id)
    const { data, requestedAt } = response
    const listOnly = listOnlyFields(await run.mirror.readBehaviours(), name)
    const parsed = stream.parseRows([toListShape(stored, data, listOnly)], run.projectId)
    const result = await run.mirror.commit({
      stream: name,
      ...parsed,
      requestedAt,
      isAuthoritative: true,
    })
    run.stats.recordPage(name, parsed.rows.length, result)
    return parsed.rows[0] ?? 'unreadable'
  })
  if (failed.size > 0) await requireServed(run, stream, priority)
  for (const [id, why] of failed) await reject(id, why)
  return rows
}

/** Throws ApiError if the service does not answer for the list either. */
async function requireServed(run: SyncRun, { name, list }: ListStream, priority: Priority) {
  await run.get(name, list(run.projectId).path, { limit: 1 }, priority).catch((error) => {
    if (!isRefused(error)) throw error
  })
}
