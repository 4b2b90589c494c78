/** Stores one row without what the setting `columns` no longer allows, and what was made of it. */
import { sql } from 'kysely'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { parseJson } from '../../values/json.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { contentHash } from '../core/item-fields.ts'
import type { MirrorCommit, RowKey } from '../core/mirror.ts'
import { replaceMetrics } from './analytics-rollups.ts'
import { type EncodedRow, encodePage } from './encode-rows.ts'
import { hasKey, type KeyedTable } from './reader.ts'
import { streamTables, valueColumns } from './stream-tables.ts'
import type { ProjectContext } from './sync-runs.ts'

/** `table`: as it is read; `stored`: as it is written. `columns`: of its key. */
export type CleanedSource = {
  readonly table: KeyedTable
  readonly stored: KeyedTable
  readonly columns: readonly string[]
  readonly hasDiscovered: boolean
}

/** What only the table knows of a rollup. */
async function readDay({ db, kind, project }: ProjectDb, key: RowKey) {
  const isDay = hasKey(kind, 'analytics_rollups', streamTables.analytics.key, key)
  const { rows } = await sql<EncodedRow>`
    select window_from, window_to, day, time_zone from analytics_rollups
    where project_id = ${project} and ${isDay}`.execute(db)
  return rows[0]
}

export async function storeCleaned(
  trx: ProjectContext,
  name: StreamName,
  { table, stored, columns: key, hasDiscovered }: CleanedSource,
  fields: Parameters<typeof encodePage>[2],
  ofRow: RowKey,
  row: MirrorCommit['rows'][number],
): Promise<void> {
  const { db, kind, project, typed } = trx
  // What is not in the row as it came.
  const own = Object.fromEntries(streamTables[name].key.map((part, n) => [part, ofRow[n] ?? null]))
  const rows = [{ ...row, columns: { ...row.columns, ...own } }]
  const page = encodePage(trx, { stream: name, rows, requestedAt: 0 }, fields)
  const encoded = page.rows[0] as EncodedRow
  const values = valueColumns(streamTables[name], page.columns).filter((column) =>
    column.field === undefined ? column.name in row.columns : hasDiscovered,
  )
  const raw = { name: 'raw', type: 'json' } as const
  const set = [raw, ...values].map(
    (column) => sql`${sql.ref(column.name)} = ${typed(column.type, encoded[column.name] ?? null)}`,
  )
  await sql`update ${sql.table(stored)} set ${sql.join(set)}
    where project_id = ${project} and ${hasKey(kind, table, key, ofRow)}`.execute(db)
  if (name === 'visitor_activity')
    await renameEntry(trx, ofRow, String(row.columns.entry_hash ?? ofRow[1]))
  if (name === 'analytics')
    await replaceMetrics(trx, { ...encoded, ...(await readDay(trx, ofRow)) })
}

/**
 * An entry without an id is known by a hash of all of it, which would tell what it had, so it gets
 * the hash of the rest. Two that differed in nothing else are numbered.
 */
async function renameEntry(
  { db, kind, project }: ProjectDb,
  key: RowKey,
  renamed: string,
): Promise<void> {
  const [visitor, hash] = key
  if (renamed === hash) return
  await sql`update visitor_activity set entry_hash = ${renamed}, ordinal = (
      select coalesce(max(ordinal) + 1, 0) from visitor_activity
      where project_id = ${project} and visitor_id = ${visitor} and entry_hash = ${renamed})
    where project_id = ${project} and ${hasKey(kind, 'visitor_activity', entryKey, key)}`.execute(
    db,
  )
}

const { key: entryKey } = streamTables.visitor_activity

/** An entry without an id that is read again comes back under another hash: this copy is no row. */
export async function replaceEntry(
  { db, kind, project, typed }: ProjectDb,
  key: RowKey,
  raw: string,
  since: EpochMs,
): Promise<void> {
  if (contentHash(parseJson(decodeJson(kind, raw))) !== key[1]) return
  await sql`update visitor_activity set deleted_at = ${typed('time', toTimestamp(since))}
    where project_id = ${project} and ${hasKey(kind, 'visitor_activity', entryKey, key)}
      and asked_at < ${typed('integer', since)} and deleted_at is null`.execute(db)
}
