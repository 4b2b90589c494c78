/**
 * Keeps the versions of rows that a page replaces, of the lists that the setting `history` names.
 * What is stored is read with the ids of the page, in the statement that reads these anyway; what
 * was replaced is one more.
 */
import { sql } from 'kysely'
import { type ColumnSpec, type ColumnType, plainType } from '../../../schema/column-types.ts'
import { historyTable, historyTables } from '../../../schema/mirror-tables.ts'
import type { ListStreamName } from '../../../schema/stream-specs.ts'
import { type EpochMs, rfc3339, toTimestamp } from '../../values/time.ts'
import { inList, rowsParameter } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import { nextVersion, unchangedSince, type VersionStep } from '../core/row-versions.ts'
import { readBeforeChanges } from './conversation-changes.ts'
import type { EncodedRow } from './encode-rows.ts'
import { type StoredRows, withStoredIds } from './stored-ids.ts'
import { streamTables } from './stream-tables.ts'
import type { ProjectContext } from './sync-runs.ts'

/** All but the project's. */
function columnTypesOf(list: ListStreamName): Readonly<Record<string, ColumnType>> {
  const columns = Object.entries<ColumnSpec>(historyTables[historyTable(list)].columns)
  const types = columns.map(([name, [type]]) => [name, plainType[type]] as const)
  return Object.fromEntries(types.filter(([name]) => name !== 'project_id'))
}

/** What is to be read of the stored rows, beside their ids. */
function versionedColumns(list: ListStreamName): readonly string[] {
  const { id: _, valid_from: __, valid_to: ___, ...kept } = columnTypesOf(list)
  return [...Object.keys(kept), 'deleted_at', 'unchanged_since']
}

/**
 * The rows of a page as they are to be stored, what is stored of them (of a list), and what that
 * means for versions.
 */
export async function compareWithStored(
  trx: ProjectContext,
  { stream, requestedAt }: MirrorCommit,
  encoded: readonly EncodedRow[],
) {
  const { list } = streamTables[stream]
  const steps = new Map<string, VersionStep>()
  if (list === null) return { rows: encoded, before: new Map(), steps }
  const isKept = trx.history.includes(list)
  const columns = [
    ...(list === 'conversations' ? readBeforeChanges : []),
    ...(isKept ? versionedColumns(list) : []),
  ]
  const { rows, before } = await withStoredIds(trx, list, encoded, [...new Set(columns)])
  if (!isKept) return { rows, before, steps }
  const followed = rows.map((row) => {
    const stored = before.get(String(row.id))
    if (stored === undefined) return row
    const step = nextVersion(list, stored, String(row.raw), requestedAt)
    steps.set(stored.id, step)
    return { ...row, unchanged_since: unchangedSince(step, requestedAt) }
  })
  return { rows: followed, before, steps }
}

/** `stored`: the ids of the rows that were stored; another copy was older than what is there. */
export async function recordVersions(
  trx: ProjectDb,
  list: ListStreamName,
  steps: ReadonlyMap<string, VersionStep>,
  before: StoredRows,
  stored: readonly string[],
  requestedAt: EpochMs,
): Promise<void> {
  const ended = stored.flatMap((id) => {
    const interval = steps.get(id)?.ended ?? null
    return interval === null ? [] : [{ id, ...interval }]
  })
  for (let left = ended, n = 0; left.length > 0 && n < maxShifts; n++) {
    const inserted = new Set(await insertVersions(trx, list, left, before))
    left = left.flatMap((one) => (inserted.has(one.id) ? [] : [{ ...one, from: one.from + 1 }]))
  }
  const ahead = ended.flatMap(({ id, from, to }) => (from > to ? [id] : []))
  if (ahead.length > 0) await endBefore(trx, list, ahead, requestedAt)
}

/**
 * Another version has a key only where versions were not kept for a while within its second, or a
 * clock was wrong. What is of an erased person finds no place at all.
 */
const maxShifts = 5

/** Returns the ids of those whose key was free. */
async function insertVersions(
  { db, kind, project, typed }: ProjectDb,
  list: ListStreamName,
  ended: readonly (NonNullable<VersionStep['ended']> & { readonly id: string })[],
  before: StoredRows,
): Promise<readonly string[]> {
  const types = columnTypesOf(list)
  const rows = ended.map(({ id, from, to }) => {
    return { ...before.get(id), id, valid_from: rfc3339(from), valid_to: rfc3339(to) }
  })
  const names = Object.keys(types).map((name) => sql.ref(name))
  const { rows: inserted } = await sql<{ id: string }>`
    insert into ${sql.table(historyTable(list))} (project_id, ${sql.join(names)})
    select ${typed('text', project)}, listed.* from ${rowsParameter(kind, types, rows)} as listed
    where true on conflict do nothing returning id`.execute(db)
  return inserted.map(({ id }) => id)
}

/** Versions that begin or end in a future which a wrong clock made up. */
async function endBefore(
  { db, kind, project, typed }: ProjectDb,
  list: ListStreamName,
  ids: readonly string[],
  requestedAt: EpochMs,
): Promise<void> {
  const at = typed('time', toTimestamp(requestedAt))
  await sql`
    update ${sql.table(historyTable(list))} set valid_to = ${at}
    where project_id = ${project} and id ${inList(kind, ids)} and valid_to > ${at}`.execute(db)
}
