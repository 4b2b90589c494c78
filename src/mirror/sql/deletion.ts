/** Rows that the service no longer has stay, with `deleted_at`. Storing a row again clears it. */
import { type RawBuilder, sql } from 'kysely'
import type { ListStreamName, StreamName, StreamNameOf } from '../../../schema/stream-specs.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import { countRowsOf, inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  describeMassDeletion,
  isMassDeletion,
  massDeletionGapKey,
  sufficientRows,
  untimedGap,
} from '../core/mirror.ts'
import { closeGaps, openGap, readGapReason } from './gaps.ts'
import {
  addPendingChildren,
  doubtParents,
  endDoubt,
  removePendingChildren,
} from './pending-children.ts'
import { markFactsOfParents } from './pending-facts.ts'
import { absentSet, addToIdSet, unseenIds } from './seen-rows.ts'
import { streamTables } from './stream-tables.ts'
import { readCursor, writeCursors } from './sync-state.ts'

/** Deletions of this time count together, however many runs and processes found them. */
const countedMs: Ms = 86_400_000

/** Deletions up to this moment, in milliseconds since 1970, were confirmed by a person. */
const confirmedCursor = (stream: StreamName) => `${stream}:deletions_confirmed`

export function recordConfirmedDeletions(
  trx: ProjectDb,
  stream: StreamName,
  at: EpochMs,
): Promise<void> {
  return writeCursors(trx, { [confirmedCursor(stream)]: String(at) })
}

/**
 * `at`: when the service was asked: a copy that was requested earlier does not restore the row. If
 * too many were marked of late, a fault is likelier: the marks are taken back, and none is made
 * until a reconcile finds the rows listed. `isConfirmed`: a person says that they are deleted.
 * Null: marked; else why not.
 */
export async function markDeleted(
  trx: ProjectDb,
  stream: ListStreamName,
  id: string,
  at: EpochMs,
  isConfirmed = false,
): Promise<string | null> {
  const doubt = isConfirmed ? null : await readGapReason(trx, stream, massDeletionGapKey)
  if (doubt !== null) {
    await doubtRows(trx, stream, [id])
    return doubt
  }
  if (isConfirmed) await recordConfirmedDeletions(trx, stream, at)
  const { children } = streamTables[stream]
  for (const affected of [stream, ...children]) {
    const { stored, firstKey } = streamTables[affected]
    const { numAffectedRows } = await sql`
      update ${sql.table(stored)} set deleted_at = ${toTimestamp(at)}, asked_at = ${at}
      where project_id = ${trx.project} and ${sql.ref(firstKey)} = ${id}
        and deleted_at is null`.execute(trx.db)
    if (affected === stream && numAffectedRows === 0n)
      await addToIdSet(trx, absentSet(stream), [id])
  }
  for (const child of children) await removePendingChildren(trx, child, id)
  await markFactsOfParents(trx, stream, [id])
  if (isConfirmed) return null
  return takeBackIfTooMany(trx, stream, at, sql`true`, async (ids) => {
    await restoreChildren(trx, stream, ids, at)
    await doubtRows(trx, stream, ids)
  })
}

/**
 * The marks of a day are taken back if they are too many. `isOwn`: a condition of the rows that
 * count. `restore`: what follows, by the first parts of their keys. Null: they stay; else why not.
 */
export async function takeBackIfTooMany(
  trx: ProjectDb,
  stream: StreamNameOf<'list' | 'child-list'>,
  at: EpochMs,
  isOwn: RawBuilder<unknown>,
  restore: (ids: readonly string[]) => Promise<void>,
): Promise<string | null> {
  const { stored, firstKey } = streamTables[stream]
  const table = sql.table(stored)
  const since = toTimestamp(at - countedMs)
  const confirmedAt = Number((await readCursor(trx, confirmedCursor(stream))) ?? 0)
  const isRecent = sql`project_id = ${trx.project} and deleted_at is not null
    and deleted_at >= ${since} and asked_at > ${confirmedAt} and ${isOwn}`
  const isExpected = sql`project_id = ${trx.project} and (deleted_at is null
    or deleted_at >= ${since})`
  const missing = await countRowsOf(trx.db, sql`${table} where ${isRecent}`)
  // So few that a table of any size has enough of them.
  if (!isMassDeletion(missing, 0)) return null
  const some = sql`(select 1 from ${table} where ${isExpected} limit ${sufficientRows(missing)})
    as expected`
  if (!isMassDeletion(missing, await countRowsOf(trx.db, some))) return null
  const all = await countRowsOf(trx.db, sql`${table} where ${isExpected}`)
  const reason = describeMassDeletion(stream, missing, all)
  await openGap(trx, untimedGap(stream, reason, massDeletionGapKey))
  const { rows } = await sql<{ id: string }>`
    update ${table} set deleted_at = null where ${isRecent} returning ${sql.ref(firstKey)}
    as id`.execute(trx.db)
  await restore([...new Set(rows.map(({ id }) => id))])
  return reason
}

/** A list that was read to its end did not show so many rows that none is marked. */
export async function doubtUnseenRows(
  trx: ProjectDb,
  stream: ListStreamName,
  seenRowsKey: string,
  reason: string,
): Promise<void> {
  await openGap(trx, untimedGap(stream, reason, massDeletionGapKey))
  await endDoubtOfRows(trx, stream)
  const isUnseen = sql`in (${unseenIds(trx.project, stream, seenRowsKey)})`
  for (const child of streamTables[stream].children) await doubtParents(trx, child, isUnseen)
}

/** The list shows all rows but a few, or a person has confirmed the deletions. */
export async function endDeletionDoubt(trx: ProjectDb, stream: ListStreamName): Promise<void> {
  if ((await readGapReason(trx, stream, massDeletionGapKey)) === null) return
  await closeGaps(trx, stream, [massDeletionGapKey])
  await endDoubtOfRows(trx, stream)
}

async function doubtRows(trx: ProjectDb, stream: ListStreamName, ids: readonly string[]) {
  for (const child of streamTables[stream].children)
    await doubtParents(trx, child, inList(trx.kind, ids))
}

async function endDoubtOfRows(trx: ProjectDb, stream: ListStreamName) {
  for (const child of streamTables[stream].children) await endDoubt(trx, child)
}

/** What was known of how far they had been read is gone, so they are read again. */
async function restoreChildren(
  trx: ProjectDb,
  stream: ListStreamName,
  ids: readonly string[],
  at: EpochMs,
) {
  for (const child of streamTables[stream].children) {
    const { stored, firstKey } = streamTables[child]
    await sql`
      update ${sql.table(stored)} set deleted_at = null
      where project_id = ${trx.project} and ${sql.ref(firstKey)} ${inList(trx.kind, ids)}
        and deleted_at is not null`.execute(trx.db)
    await addPendingChildren(trx, child, ids, at)
  }
  await markFactsOfParents(trx, stream, ids)
}
