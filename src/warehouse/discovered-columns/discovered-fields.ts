/** Undocumented fields become columns as they appear, and wider ones as their values change type. */
import { type RawBuilder, sql } from 'kysely'
import { type DatabaseKind, sqlTypes } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import type { ExtraField, MirrorRow, StreamName } from '../../core/row.ts'
import { toTimestamp } from '../../core/time.ts'
import { decodeText, encodeText } from '../database/escape.ts'
import type { Db } from '../database/connection-pool.ts'
import { tableOfStream } from '../mirror/stream-tables.ts'
import { columnName } from './column-name.ts'
import { columnTypeOf, type FieldType, canHold, fieldTypeOf, widerType } from './field-type.ts'
import { widenColumn } from './widen-column.ts'

export type DiscoveredField = {
  readonly path: string
  /** Null: the field stays in `raw` only. */
  readonly column: string | null
  readonly type: FieldType
}

export type StreamFields = {
  readonly byPath: ReadonlyMap<string, DiscoveredField>
  /** Those with a column, in a fixed order. */
  readonly withColumn: readonly (DiscoveredField & { readonly column: string })[]
}

export type DiscoveredFields = {
  /** The fields of a stream with room for those of the rows: called before the rows are stored. */
  readonly ensureColumns: (stream: StreamName, rows: readonly MirrorRow[], at: number) => Promise<StreamFields>
  /** Reads again what other processes may have found. */
  readonly invalidate: () => void
}

export type DiscoveryOptions = {
  readonly db: Db
  readonly kind: DatabaseKind
  readonly project: string
  /** `freeze`: no new columns, no wider ones. */
  readonly schema: 'discover' | 'freeze'
}

/** A table of more columns serves nobody, and what a service names by ids would never end. */
const maxColumns = 300
/** Fields noted as staying in `raw`; beyond, they are not even noted. */
const maxFields = 1000
/** Characters. A path is part of a key, and an index holds no long ones; nor does anybody read such names. */
const maxPathLength = 300

type KnownFields = StreamFields & { readonly recordedPaths: ReadonlySet<string> }

export function createDiscoveredFields(options: DiscoveryOptions): DiscoveredFields {
  const known = new Map<StreamName, KnownFields>()
  return {
    ensureColumns: async (stream, rows, at) => {
      const now = known.get(stream) ?? (await readDiscoveredFields(options.db, options.project, stream))
      known.set(stream, now)
      const neededTypes = findNeededTypes(now, rows, options.schema)
      if (neededTypes.size === 0) return now
      const applyChanges = (withOptions: DiscoveryOptions) =>
        options.db.transaction().execute((trx) => addOrWidenColumns(trx, withOptions, stream, neededTypes, at))
      const after = await applyChanges(options)
        .catch((error: unknown) =>
          isTableFull(error) ? applyChanges({ ...options, schema: 'freeze' }) : Promise.reject(error),
        )
        .catch((error: unknown) => (isLockTimeout(error) ? now : Promise.reject(error)))
      known.set(stream, after)
      return after
    },
    invalidate: () => known.clear(),
  }
}

/** Columns are shared by the projects of a warehouse, so a field that any of them has is known to all. */
async function readDiscoveredFields(db: Db, project: string, stream: StreamName): Promise<KnownFields> {
  const rows = await db
    .selectFrom('discovered_fields')
    .select(['project_id', 'path', 'column_name', 'type'])
    .where('stream', '=', stream)
    .orderBy('path')
    .orderBy('project_id')
    .execute()
  const byPath = new Map<string, DiscoveredField>()
  const recordedPaths = new Set<string>()
  for (const { project_id, path: stored, column_name: column, type } of rows) {
    const path = decodeText(stored)
    if (byPath.get(path)?.column == null) byPath.set(path, { path, column, type: type as FieldType })
    if (project_id === project) recordedPaths.add(path)
  }
  const withColumn = [...byPath.values()].flatMap((field) =>
    field.column === null ? [] : [{ ...field, column: field.column }],
  )
  return { byPath, withColumn, recordedPaths }
}

/** Fields of the rows that are not known, or that a column does not hold, with the type that they ask for. */
function findNeededTypes(known: KnownFields, rows: readonly MirrorRow[], schema: DiscoveryOptions['schema']): Map<string, FieldType> {
  const neededTypes = new Map<string, FieldType>()
  for (const row of rows) {
    for (const [path, extra] of row.extraFields) {
      if (path.length > maxPathLength) continue
      const earlierType = neededTypes.get(path)
      const hasRoom = earlierType !== undefined || neededTypes.size < maxFields
      const type = hasRoom ? neededType(known, path, extra, schema) : null
      if (type !== null) neededTypes.set(path, earlierType === undefined ? type : widerType(earlierType, type))
    }
  }
  return neededTypes
}

function neededType(known: KnownFields, path: string, extra: ExtraField, schema: DiscoveryOptions['schema']): FieldType | null {
  const field = known.byPath.get(path)
  if (field === undefined) return known.byPath.size < maxFields ? fieldTypeOf(extra) : null
  const canAddColumn = field.column === null && schema === 'discover' && known.withColumn.length < maxColumns
  const isTooNarrow = field.column !== null && schema === 'discover' && !canHold(field.type, extra)
  return isTooNarrow || canAddColumn || !known.recordedPaths.has(path) ? fieldTypeOf(extra) : null
}

/** Makes room, in one transaction, one process at a time: what another one made meanwhile is found and used. */
async function addOrWidenColumns(
  trx: Db,
  { kind, project, schema }: DiscoveryOptions,
  stream: StreamName,
  neededTypes: ReadonlyMap<string, FieldType>,
  at: number,
): Promise<KnownFields> {
  if (kind === 'postgres') {
    await sql`select pg_advisory_xact_lock(hashtext('deskmirror.fields'))`.execute(trx)
    await sql`set local lock_timeout = '5s'`.execute(trx)
  }
  const table = tableOfStream[stream]
  const known = await readDiscoveredFields(trx, project, stream)
  const taken = new Set<string>([...Object.keys(tables[table].columns), ...(await readTableColumns(trx, kind, table))])
  const records: FieldRecord[] = []
  const added: NewColumn[] = []
  for (const [path, type] of [...neededTypes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const field = known.byPath.get(path)
    const newType = field === undefined ? type : widerType(field.type, type)
    const column = field?.column ?? null
    if (column === null && schema === 'discover' && known.withColumn.length + added.length < maxColumns) {
      const name = columnName(path, taken)
      added.push({ column: name, type: newType })
      records.push({ path, column: name, type: newType, needsBackfill: true })
      taken.add(name)
    } else if (field !== undefined && column !== null && newType !== field.type && schema === 'discover') {
      const widenedColumn = await widenColumn(trx, kind, { table, column, from: field.type, to: newType, taken })
      records.push({ path, column: widenedColumn, type: newType, needsBackfill: widenedColumn !== column })
      taken.add(widenedColumn)
    } else {
      records.push({ path, column, type: field?.type ?? type, needsBackfill: false })
    }
  }
  const tableHasRows = added.length === 0 || (await hasRows(trx, table))
  await addColumns(trx, kind, table, added)
  await recordFields(trx, { kind, project, stream, at }, tableHasRows ? records : records.map((record) => ({ ...record, needsBackfill: false })))
  return readDiscoveredFields(trx, project, stream)
}

/**
 * Somebody reads the table for long. A change of it would wait, and all readers after it too: so the rows go in without
 * the new columns, and these are filled from them when a later page gets them made. Code: Postgres, lock_not_available.
 */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}

/** Postgres counts also the columns that were dropped. Codes: too_many_columns and its class; SQLite has none of its own. */
function isTableFull(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return (
    /^54/.test(String(error.code)) || (error.code === 'SQLITE_ERROR' && error.message.startsWith('too many columns'))
  )
}

async function readTableColumns(trx: Db, kind: DatabaseKind, table: string): Promise<string[]> {
  const { rows } = await (kind === 'sqlite'
    ? sql<{ name: string }>`select name from pragma_table_info(${table})`
    : sql<{ name: string }>`select attname as name from pg_attribute
        where attrelid = to_regclass(${table}) and attnum > 0 and not attisdropped`
  ).execute(trx)
  return rows.map(({ name }) => name)
}

type NewColumn = { readonly column: string; readonly type: FieldType }

/** In Postgres by one statement, as each takes the table's lock; SQLite knows no statement for more than one. */
async function addColumns(trx: Db, kind: DatabaseKind, table: string, added: readonly NewColumn[]): Promise<void> {
  const parts = added.map(({ column, type }) => {
    const declaration: RawBuilder<unknown> = sql.raw(sqlTypes[kind][columnTypeOf[type]])
    return sql`add column ${sql.ref(column)} ${declaration}`
  })
  const statements = kind === 'sqlite' ? parts : parts.length === 0 ? [] : [sql.join(parts)]
  for (const statement of statements) await sql`alter table ${sql.table(table)} ${statement}`.execute(trx)
}

/** Rows stored before the column was may hold the field all the same: then they are gone through once. */
async function hasRows(trx: Db, table: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(trx)
  return rows.length > 0
}

type FieldRecord = {
  readonly path: string
  readonly column: string | null
  readonly type: FieldType
  /** Rows that are there are to be gone through for it. */
  readonly needsBackfill: boolean
}
type FieldScope = {
  readonly kind: DatabaseKind
  readonly project: string
  readonly stream: StreamName
  readonly at: number
}

/** Rows for this project; the other projects that have a field learn of its column and type. */
async function recordFields(trx: Db, { kind, project, stream, at }: FieldScope, records: readonly FieldRecord[]): Promise<void> {
  const first_seen_at = toTimestamp(at)
  const rows = records.map(({ path, column, type, needsBackfill }) => ({
    ...{ project_id: project, stream, path: encodeText(kind, path), column_name: column, type },
    ...{ first_seen_at, fill_after: needsBackfill ? '' : null },
  }))
  for (let i = 0; i < rows.length; i += 200) {
    await trx
      .insertInto('discovered_fields')
      .values(rows.slice(i, i + 200))
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'stream', 'path']).doUpdateSet((eb) => ({
          column_name: eb.ref('excluded.column_name'),
          type: eb.ref('excluded.type'),
          fill_after: sql<string | null>`coalesce(excluded.fill_after, discovered_fields.fill_after)`,
        })),
      )
      .execute()
  }
  await sql`
    update discovered_fields set column_name = own.column_name, type = own.type from discovered_fields as own
    where own.project_id = ${project} and own.stream = ${stream} and own.column_name is not null
      and discovered_fields.stream = own.stream and discovered_fields.path = own.path
      and (discovered_fields.column_name is distinct from own.column_name or discovered_fields.type <> own.type)`.execute(
    trx,
  )
}
