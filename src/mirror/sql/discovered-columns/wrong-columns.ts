/** Finds columns that say something else than the row as it came, which is in `raw`. */
import { sql } from 'kysely'
import type { ColumnType } from '../../../../schema/column-types.ts'
import type { MirrorRow } from '../../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../../schema/stream-specs.ts'
import { type Json, parseJson, toCanonicalJson } from '../../../values/json.ts'
import { decodeJson } from '../../../warehouse/escape.ts'
import type { ProjectDb } from '../../../warehouse/project-db.ts'
import type { RowKey } from '../../core/mirror.ts'
import { encodeValue } from '../encode-value.ts'
import { notDeleted, readRowsAfterKey } from '../reader.ts'
import { type InsertedColumn, streamTables, valueColumns } from '../stream-tables.ts'
import { readDiscoveredFields } from './field-records.ts'
import { fittingValue } from './field-types.ts'

/**
 * Of rows in key order, after `after` (null: from the start); `firstKey`: what their keys begin
 * with. Without columns that are still to be filled, and rows that are marked as deleted. `parse`:
 * undefined if the item is no row.
 */
export async function findWrongColumns(
  context: ProjectDb,
  stream: StreamName,
  parse: (item: Json, key: RowKey) => MirrorRow<Json> | undefined,
  range: {
    readonly after: RowKey | null
    readonly limit: number
    readonly firstKey: string | null
  },
) {
  const { db, kind, project } = context
  const { after, limit, firstKey } = range
  const { key: keyColumns, firstKey: first, columns: documented } = streamTables[stream]
  const discovered = (await readDiscoveredFields(db, kind, project, stream)).columns
  const unfilled = await readUnfilled(context, stream)
  const columns = valueColumns(streamTables[stream], [...documented, ...discovered])
  const compared = columns.filter(({ name }) => !unfilled.has(name))
  const within = firstKey === null ? sql`` : sql`and ${sql.ref(first)} = ${firstKey}`
  const rows = await readRowsAfterKey(db, kind, {
    table: streamSpecs[stream].table,
    columns: keyColumns,
    where: sql`project_id = ${project} and raw is not null ${notDeleted(stream)} ${within}`,
    after,
    limit,
    more: compared.map(({ name }, n) => sql`${sql.ref(name)} as ${sql.ref(`value ${n}`)}`),
  })
  const found = rows.map(({ key, raw, values }) => {
    const parsed = parse(parseJson(decodeJson(kind, raw)), key)
    const isWrong = ({ name, type, field }: InsertedColumn, n: number) => {
      if (parsed === undefined || (field === undefined && !Object.hasOwn(parsed.columns, name)))
        return false
      const value =
        field === undefined
          ? parsed.columns[name]
          : fittingValue(field.type, parsed.extraFields.get(field.path))
      return (
        comparable(type, values[`value ${n}`]) !== comparable(type, encodeValue(kind, type, value))
      )
    }
    return { key, columns: compared.filter(isWrong).map(({ name }) => name) }
  })
  return {
    last: rows.length < limit ? null : (found.at(-1)?.key ?? null),
    wrong: found.filter(({ columns }) => columns.length > 0),
  }
}

async function readUnfilled({ db }: ProjectDb, stream: StreamName): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{
    name: string
  }>`select distinct column_name as name from discovered_fields
    where stream = ${stream} and fill_after is not null and column_name is not null`.execute(db)
  return new Set(rows.map(({ name }) => name))
}

function comparable(type: ColumnType, value: unknown): string | null {
  if (value === null || value === undefined) return null
  return type === 'json' ? toCanonicalJson(String(value)) : String(value)
}

/** The former columns that still exist: of a project's fields, in these streams. */
export async function listFormerColumns(
  { db, kind, project }: ProjectDb,
  streams: readonly StreamName[],
) {
  const found = []
  for (const stream of streams) {
    const { table } = streamSpecs[stream]
    const { byPath, recordedPaths } = await readDiscoveredFields(db, kind, project, stream)
    for (const { path, column, formerColumns } of byPath.values())
      for (const { name, type } of recordedPaths.has(path) ? formerColumns : [])
        found.push({ column: `${table}.${name}`, replacedBy: `${table}.${column}`, type })
  }
  return found
}
