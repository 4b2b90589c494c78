/**
 * Marks rows of a child list that the service no longer has. Storing a row again clears the mark.
 */
import { sql } from 'kysely'
import { type StreamNameOf, streamSpecs } from '../../../schema/stream-specs.ts'
import {
  clockToleranceSeconds,
  type EpochMs,
  type Ms,
  parseTime,
  toTimestamp,
} from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type ListedRows, massDeletionGapKey, type UnlistedOutcome } from '../core/mirror.ts'
import { findUnlistedRows, type StoredChild } from '../core/unlisted-rows.ts'
import { recordConfirmedDeletions, takeBackIfTooMany } from './deletion.ts'
import { readGapReason } from './gaps.ts'
import { ofParent } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { hasKey } from './reader.ts'
import { streamTables } from './stream-tables.ts'

type ChildListName = StreamNameOf<'child-list'>

/** For an audit, which reads few lists: another list was longer within this time. */
const longerWithinMs: Ms = 86_400_000

/** In the transaction that stores what the reading showed. `at`: of its last request. */
export async function settleUnlistedRows(
  trx: ProjectDb,
  stream: ChildListName,
  listed: ListedRows,
  at: EpochMs,
): Promise<UnlistedOutcome> {
  const stored = await readStored(trx, stream, listed)
  const { inside, beyond, unexplained } = findUnlistedRows(stored, listed)
  const missing = [...inside, ...beyond]
  const before = await readAbsences(trx, stream, listed.parentId)
  const hasMissed = before === null ? null : new Set(before.keys)
  const isConfirmed = (key: string) => listed.isSecond || hasMissed?.has(key) === true
  const longerSince = listed.isSecond ? at - longerWithinMs : (before?.at ?? at)
  const isCutRefuted =
    beyond.length > 0 && (await isAnotherLonger(trx, stream, listed, longerSince))
  const deleted = [...inside, ...(isCutRefuted ? beyond : [])].filter(isConfirmed)
  const doubt =
    deleted.length === 0 ? null : await markDeletedChildren(trx, stream, listed, deleted, at)
  const first = missing.filter((key) => !isConfirmed(key))
  const undecided = isCutRefuted ? [] : beyond.filter(isConfirmed)
  const remembered = [...first, ...undecided]
  if (remembered.length > 0 || before !== null)
    await writeAbsences(trx, stream, listed.parentId, remembered, before?.at ?? listed.since)
  return {
    marked: doubt === null ? deleted.length : 0,
    isToReread: first.length > 0,
    kept: unexplained.length + undecided.length,
    doubt,
  }
}

async function readStored(trx: ProjectDb, stream: ChildListName, { parentId, since }: ListedRows) {
  const { stored, key, firstKey } = streamTables[stream]
  const columns = key.slice(1)
  const { timeColumn } = streamSpecs[stream]
  // A later time is that of a wrong clock.
  const latest = trx.clock() + clockToleranceSeconds * 1000
  const { rows } = await sql<Record<string, unknown>>`
    select ${sql.join(columns.map((name) => sql.ref(name)))}, ${sql.ref(timeColumn)} as at,
      case when asked_at >= ${since} and asked_at <= ${latest} then 1 else 0 end as later
    from ${sql.table(stored)}
    where project_id = ${trx.project} and ${sql.ref(firstKey)} = ${parentId}
    and deleted_at is null`.execute(trx.db)
  return rows.map((row): StoredChild => {
    const key = columns.map((name) => String(row[name])).join('/')
    return { key, at: parseTime(row.at) ?? null, isLater: Number(row.later) === 1 }
  })
}

/** The rows that the last reading of the whole list did not show, since the first such reading. */
async function readAbsences(trx: ProjectDb, stream: ChildListName, parentId: string) {
  const { rows } = await sql<{ unlisted: string | null }>`
    select unlisted from sync_children where ${ofParent(trx, stream, parentId)}`.execute(trx.db)
  const text = rows[0]?.unlisted ?? null
  return text === null
    ? null
    : (JSON.parse(text) as { readonly at: EpochMs; readonly keys: readonly string[] })
}

async function writeAbsences(
  trx: ProjectDb,
  stream: ChildListName,
  parentId: string,
  keys: readonly string[],
  at: EpochMs,
): Promise<void> {
  const text = keys.length === 0 ? null : JSON.stringify({ at, keys })
  await sql`
    update sync_children set unlisted = ${trx.typed('text', text)}
    where ${ofParent(trx, stream, parentId)}`.execute(trx.db)
}

/** A list that was read since then has more rows than this one, so it is not cut at its length. */
async function isAnotherLonger(
  { db, project }: ProjectDb,
  stream: ChildListName,
  { keys }: ListedRows,
  since: EpochMs,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 as one from sync_children where project_id = ${project} and stream = ${stream}
      and listed_rows > ${keys.size} and full_read_at >= ${since} limit 1`.execute(db)
  return rows.length > 0
}

/** Null: marked; else why a fault is likelier. */
async function markDeletedChildren(
  trx: ProjectDb,
  stream: ChildListName,
  { parentId, isConfirmed }: ListedRows,
  keys: readonly string[],
  at: EpochMs,
): Promise<string | null> {
  const doubt = isConfirmed ? null : await readGapReason(trx, stream, massDeletionGapKey)
  if (doubt !== null) return doubt
  if (isConfirmed) await recordConfirmedDeletions(trx, stream, at)
  const { stored, firstKey, key: columns } = streamTables[stream]
  for (const key of keys) {
    const isRow = hasKey(trx.kind, streamSpecs[stream].table, columns, [
      parentId,
      ...key.split('/'),
    ])
    await sql`
      update ${sql.table(stored)} set deleted_at = ${toTimestamp(at)}, asked_at = ${at}
      where project_id = ${trx.project} and ${isRow}
      and deleted_at is null`.execute(trx.db)
  }
  await markFactsOfRows(trx, stream, [parentId])
  if (isConfirmed) return null
  // Rows that were deleted with their parent count there.
  const isParentThere = sql`not exists (select 1 from
    ${sql.table(streamSpecs[streamSpecs[stream].parent].table)} as parent
      where parent.project_id = ${sql.table(stored)}.project_id and parent.id =
      ${sql.ref(`${stored}.${firstKey}`)}
        and parent.deleted_at is not null)`
  return takeBackIfTooMany(trx, stream, at, isParentThere, (ids) =>
    markFactsOfRows(trx, stream, ids),
  )
}
