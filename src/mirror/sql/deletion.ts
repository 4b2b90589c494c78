/** Rows that the service no longer has stay, with `deleted_at`. Storing a row again clears it. */
import { sql } from 'kysely'
import { type ListStreamName, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  describeMassDeletion,
  isMassDeletion,
  massDeletionGapKey,
  sufficientRows,
} from '../core/mirror.ts'
import { closeGaps, openGap, readGapReason } from './gaps.ts'
import {
  addPendingChildren,
  doubtParents,
  endDoubt,
  removePendingChildren,
} from './pending-children.ts'
import { markFactsOfParents } from './pending-facts.ts'
import { unseenIds } from './seen-rows.ts'
import { streamTables } from './stream-tables.ts'
import { readCursor, writeCursors } from './sync-state.ts'

/** Deletions of this time count together, however many runs and processes found them. */
export const countedMs: Ms = 86_400_000

/** Deletions up to this moment, in milliseconds since 1970, were confirmed by a person. */
const confirmedCursor = (stream: StreamName) => `${stream}:deletions_confirmed`

export async function deletionsConfirmedAt(trx: ProjectDb, stream: StreamName): Promise<EpochMs> {
  return Number((await readCursor(trx, confirmedCursor(stream))) ?? 0)
}

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
 * until a reconcile finds the rows listed, or a person `isConfirmed`. Null: marked; else why not.
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
    await sql`
      update ${sql.table(stored)} set deleted_at = ${toTimestamp(at)}, asked_at = ${at}
      where project_id = ${trx.project} and ${sql.ref(firstKey)} = ${id}
        and deleted_at is null`.execute(trx.db)
  }
  for (const child of children) await removePendingChildren(trx, child, id)
  await markFactsOfParents(trx, stream, [id])
  return isConfirmed ? null : takeBackIfTooMany(trx, stream, at)
}

async function takeBackIfTooMany(
  trx: ProjectDb,
  stream: ListStreamName,
  at: EpochMs,
): Promise<string | null> {
  const confirmedAt = await deletionsConfirmedAt(trx, stream)
  const since = toTimestamp(at - countedMs)
  const isRecent = sql`project_id = ${trx.project} and deleted_at >= ${since}
    and asked_at > ${confirmedAt}`
  const table = sql.table(streamSpecs[stream].table)
  const isExpected = sql`project_id = ${trx.project} and (deleted_at is null
    or deleted_at >= ${since})`
  const count = async (rows: ReturnType<typeof sql>) =>
    Number(
      (await sql<{ n: number }>`select count(*) as n from ${rows}`.execute(trx.db)).rows[0]?.n ?? 0,
    )
  const missing = await count(sql`${table} where ${isRecent}`)
  // So few that a table of any size has enough of them.
  if (!isMassDeletion(missing, 0)) return null
  const some = sql`(select 1 from ${table} where ${isExpected} limit ${sufficientRows(missing)})
    as expected`
  if (!isMassDeletion(missing, await count(some))) return null
  const reason = describeMassDeletion(
    stream,
    missing,
    await count(sql`${table} where ${isExpected}`),
  )
  await openGap(trx, { stream, from: null, to: null, reason }, massDeletionGapKey)
  const { rows } = await sql<{ id: string }>`
    update ${table} set deleted_at = null where ${isRecent} returning id`.execute(trx.db)
  const ids = rows.map(({ id }) => id)
  await restoreChildren(trx, stream, ids, at)
  await doubtRows(trx, stream, ids)
  return reason
}

/** A list that was read to its end did not show so many rows that none is marked. */
export async function doubtUnseenRows(
  trx: ProjectDb,
  stream: ListStreamName,
  seenRowsKey: string,
  reason: string,
): Promise<void> {
  await openGap(trx, { stream, from: null, to: null, reason }, massDeletionGapKey)
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
