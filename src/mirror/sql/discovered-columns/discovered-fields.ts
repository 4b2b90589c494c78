/** Undocumented fields become columns when they first appear, which widen if values change type. */
import { sql } from 'kysely'
import type { FieldType } from '../../../../schema/column-types.ts'
import type { MirrorRow } from '../../../../schema/row.ts'
import type { StreamName } from '../../../../schema/stream-specs.ts'
import { tables } from '../../../../schema/tables.ts'
import type { ExtraField } from '../../../values/field-path.ts'
import type { EpochMs } from '../../../values/time.ts'
import type { Db } from '../../../warehouse/connection-pool.ts'
import { acquireLock, readColumns } from '../../../warehouse/dialect.ts'
import { decodeText } from '../../../warehouse/escape.ts'
import type { ProjectDb } from '../../../warehouse/project-db.ts'
import { streamTables } from '../stream-tables.ts'
import {
  columnName,
  type ShowColumns,
  showColumnsWith,
  sqlTypeOf,
  widenColumn,
} from './discovered-column.ts'
import {
  type DiscoveredField,
  readDiscoveredFields,
  recordFields,
  type StreamFields,
} from './field-records.ts'
import { canHold, fieldTypeOf, toFieldType, type ValueType, widerType } from './field-types.ts'

export type DiscoveryOptions = Pick<ProjectDb, 'db' | 'kind' | 'project'> & {
  /** `freeze`: columns are neither added nor widened. */
  readonly schema: 'discover' | 'freeze'
  /** For the tables other than `message_rows`, whose view is a part of the schema. */
  readonly showDiscovered: ShowColumns
}

/** Per table: fields whose names are ids would add columns without end. */
const maxColumns = 300
/** Recorded fields per stream, with or without a column; further ones are not recorded. */
const maxFields = 1000
/** Characters. A path is part of a key, and indexes have limits. */
const maxPathLength = 300

export function createDiscoveredFields(options: DiscoveryOptions) {
  const known = new Map<StreamName, StreamFields>()
  return {
    /** The fields of a stream, with columns for these rows, which are to be stored after it. */
    ensureColumns: async (
      stream: StreamName,
      rows: readonly MirrorRow[],
      at: EpochMs,
    ): Promise<StreamFields> => {
      const current =
        known.get(stream) ??
        (await readDiscoveredFields(options.db, options.kind, options.project, stream))
      known.set(stream, current)
      const neededTypes = findNeededTypes(current, rows, options.schema)
      if (neededTypes.size === 0) return current
      const updated = await applyNeededTypes(options, stream, neededTypes, at)
      known.set(stream, updated)
      return updated
    },
    /** The columns that earlier values needed; false = none. Then they are to be filled. */
    widenRemembered: async (at: EpochMs): Promise<boolean> => {
      const { rows } = await sql<{ stream: StreamName; path: string; type: FieldType }>`
        select distinct stream, path, needed_type as type from discovered_fields
        where needed_type is not null`.execute(options.db)
      for (const [stream, fields] of Map.groupBy(rows, (row) => row.stream)) {
        const neededTypes = new Map(fields.map(({ path, type }) => [decodeText(path), type]))
        known.set(stream, await applyNeededTypes(options, stream, neededTypes, at))
      }
      return rows.length > 0
    },
    /** Forgets what was read, as other processes may have found new fields. */
    invalidate: () => known.clear(),
  }
}

/**
 * Waiting for a table that a long query has locked would also block all later readers, and a table
 * can be full. Then the types are only remembered, and later runs try again.
 */
function applyNeededTypes(
  options: DiscoveryOptions,
  stream: StreamName,
  neededTypes: ReadonlyMap<string, ValueType>,
  at: EpochMs,
): Promise<StreamFields> {
  const apply = (withOptions: DiscoveryOptions) =>
    options.db
      .transaction()
      .execute((trx) => addOrWidenColumns(trx, withOptions, stream, neededTypes, at))
  return apply(options).catch((error: unknown) => {
    if (!isTableFull(error) && !isLockTimeout(error)) throw error
    return apply({ ...options, schema: 'freeze' })
  })
}

/** The types of fields that are new, or do not fit their column. */
function findNeededTypes(
  known: StreamFields,
  rows: readonly MirrorRow[],
  schema: DiscoveryOptions['schema'],
) {
  const neededTypes = new Map<string, ValueType>()
  for (const row of rows) {
    for (const [path, extra] of row.extraFields) {
      const earlierType = neededTypes.get(path)
      const isBeyondLimit = earlierType === undefined && neededTypes.size >= maxFields
      if (path.length > maxPathLength || isBeyondLimit) continue
      const type = neededType(known, path, extra, schema)
      if (type !== null)
        neededTypes.set(path, earlierType === undefined ? type : widerType(earlierType, type))
    }
  }
  return neededTypes
}

function neededType(
  known: StreamFields,
  path: string,
  extra: ExtraField,
  schema: DiscoveryOptions['schema'],
) {
  const field = known.byPath.get(path)
  if (field === undefined) return known.byPath.size < maxFields ? fieldTypeOf(extra) : null
  const canAddColumn =
    field.column === null && schema === 'discover' && known.columns.length < maxColumns
  const heldType = schema === 'freeze' ? (field.neededType ?? field.type) : field.type
  const isTooNarrow = field.column !== null && !canHold(heldType, extra)
  return isTooNarrow || canAddColumn || !known.recordedPaths.has(path) ? fieldTypeOf(extra) : null
}

/** In one transaction, one process at a time; uses what another process has added meanwhile. */
async function addOrWidenColumns(
  trx: Db,
  { kind, project, schema, showDiscovered }: DiscoveryOptions,
  stream: StreamName,
  neededTypes: ReadonlyMap<string, ValueType>,
  at: EpochMs,
): Promise<StreamFields> {
  await acquireLock(trx, kind, 'deskmirror.fields')
  if (kind === 'postgres') await sql`set local lock_timeout = '5s'`.execute(trx)
  const table = streamTables[stream].stored
  const showColumns = showColumnsWith(showDiscovered)
  const known = await readDiscoveredFields(trx, kind, project, stream)
  const existing = await readColumns(trx, kind, table)
  const taken = new Set<string>([
    ...Object.keys(tables[table].columns),
    ...existing.map(({ name }) => name),
  ])
  const records: (DiscoveredField & { readonly needsBackfill: boolean })[] = []
  const added: { readonly column: string; readonly type: FieldType }[] = []
  for (const [path, type] of [...neededTypes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const field = known.byPath.get(path)
    const column = field?.column ?? null
    const formerColumns = field?.formerColumns ?? []
    const newType = await typeForAll(trx, table, field, type)
    const isNarrow = column === null || newType !== field?.type
    const isFull = known.columns.length + added.length >= maxColumns
    const record = { path, column, type: newType, neededType: null, formerColumns }
    if (schema === 'freeze' || !isNarrow || (column === null && isFull)) {
      const neededType = schema === 'freeze' && isNarrow ? newType : null
      const type = field?.type ?? newType
      records.push({ ...record, type, neededType, needsBackfill: false })
    } else if (field === undefined || column === null) {
      const name = columnName(path, taken)
      added.push({ column: name, type: newType })
      taken.add(name)
      records.push({ ...record, column: name, needsBackfill: true })
    } else {
      const widening = { table, column, from: field.type, to: newType, taken, showColumns }
      const widened = await widenColumn(trx, kind, widening)
      taken.add(widened)
      const kept = widened === column ? [] : [{ name: column, type: field.type }]
      const former = [...formerColumns, ...kept]
      records.push({ ...record, column: widened, formerColumns: former, needsBackfill: true })
    }
  }
  // Rows stored before a column existed may have the field.
  const stored =
    added.length === 0 ||
    (await sql`select 1 from ${sql.table(table)} limit 1`.execute(trx)).rows.length > 0
  for (const { column, type } of added)
    await sql`alter table ${sql.table(table)} add column ${sql.ref(column)}
      ${sqlTypeOf(kind, type)}`.execute(trx)
  const toRecord = records.map((record) => ({
    ...record,
    needsBackfill: record.needsBackfill && stored,
  }))
  await recordFields(trx, kind, project, stream, toRecord, at)
  // Some show the fields by their paths, which are known now.
  if (records.some(({ needsBackfill }) => needsBackfill)) await showColumns(trx, kind, table)
  return readDiscoveredFields(trx, kind, project, stream)
}

/** Postgres: lock_not_available. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}

/** Postgres also counts dropped columns. Codes: too_many_columns and its class; SQLite has none. */
function isTableFull(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const isFullInSqlite =
    error.code === 'SQLITE_ERROR' && error.message.startsWith('too many columns')
  return isFullInSqlite || /^54/.test(String(error.code))
}

async function typeForAll(
  trx: Db,
  table: string,
  field: DiscoveredField | undefined,
  type: ValueType,
) {
  if (field === undefined) return toFieldType(type)
  const wanted = toFieldType(widerType(widerType(field.type, field.neededType ?? field.type), type))
  if (field.column === null || field.type !== 'integer' || wanted !== 'number') return wanted
  const isInexact = sql`abs(${sql.ref(field.column)}) > ${Number.MAX_SAFE_INTEGER}`
  const { rows } = await sql`select 1 from ${sql.table(table)} where ${isInexact} limit 1`.execute(
    trx,
  )
  return rows.length > 0 ? 'text' : wanted
}
