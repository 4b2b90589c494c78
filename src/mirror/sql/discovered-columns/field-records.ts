/** The discovered fields as they are stored in `discovered_fields`. */
import { sql } from 'kysely'
import { columnTypeOf, type DatabaseKind, type FieldType } from '../../../../schema/column-types.ts'
import type { StreamName } from '../../../../schema/stream-specs.ts'
import type { ProjectId } from '../../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../../values/time.ts'
import type { Db } from '../../../warehouse/connection-pool.ts'
import { batchesOf, readColumns } from '../../../warehouse/dialect.ts'
import { decodeText, encodeText } from '../../../warehouse/escape.ts'
import { type InsertedColumn, streamTables } from '../stream-tables.ts'

export type DiscoveredField = {
  readonly path: string
  /** Null: the field stays in `raw` only. */
  readonly column: string | null
  readonly type: FieldType
  /** The type that values need that did not fit the column; null = all fitted. */
  readonly neededType: FieldType | null
  /** The columns that it had before, which still exist. */
  readonly formerColumns: readonly FormerColumn[]
}

/** Something else uses it, so it kept its type when the field got a wider column. */
export type FormerColumn = { readonly name: string; readonly type: FieldType }

/** Null: there is none. */
const encodeFormer = (columns: readonly FormerColumn[]) =>
  columns.length === 0 ? null : JSON.stringify(columns)

/** Reads what `former_columns` has, without the columns that a person has dropped since. */
export async function formerColumnsReader(
  db: Db,
  kind: DatabaseKind,
  stream: StreamName,
  stored: readonly { readonly former: string | null }[],
): Promise<(former: string | null) => readonly FormerColumn[]> {
  if (stored.every(({ former }) => former === null)) return () => []
  const existing = new Set(
    (await readColumns(db, kind, streamTables[stream].stored)).map(({ name }) => name),
  )
  return (former) => {
    const columns: readonly FormerColumn[] = JSON.parse(former ?? '[]')
    return columns.filter(({ name }) => existing.has(name))
  }
}

export type StreamFields = Awaited<ReturnType<typeof readDiscoveredFields>>

/**
 * The projects of a warehouse share columns, so a field of one is known to all. `recordedPaths`: of
 * this project.
 */
export async function readDiscoveredFields(
  db: Db,
  kind: DatabaseKind,
  project: ProjectId,
  stream: StreamName,
) {
  const { rows } = await sql<
    Omit<DiscoveredField, 'formerColumns'> & {
      readonly owner: string
      readonly former: string | null
    }
  >`
    select project_id as owner, path, column_name as "column", type, needed_type as "neededType",
      former_columns as former from discovered_fields
    where stream = ${stream} order by path, project_id`.execute(db)
  const readFormer = await formerColumnsReader(db, kind, stream, rows)
  const byPath = new Map<string, DiscoveredField>()
  const recordedPaths = new Set<string>()
  for (const { owner, former, ...stored } of rows) {
    const field = { ...stored, path: decodeText(stored.path), formerColumns: readFormer(former) }
    if (byPath.get(field.path)?.column == null) byPath.set(field.path, field)
    if (owner === project) recordedPaths.add(field.path)
  }
  return { byPath, columns: [...byPath.values()].flatMap(columnsOf), recordedPaths }
}

function columnsOf({
  path,
  column,
  type,
  formerColumns,
}: DiscoveredField): readonly InsertedColumn[] {
  const own = column === null ? [] : [{ name: column, type }]
  return [...own, ...formerColumns].map((one) => {
    return { name: one.name, type: columnTypeOf(one.type), field: { path, type: one.type } }
  })
}

/**
 * For this project; column and type also for other projects that have the field. `needsBackfill`:
 * stored rows may have the field too.
 */
export async function recordFields(
  trx: Db,
  kind: DatabaseKind,
  project: ProjectId,
  stream: StreamName,
  records: readonly (DiscoveredField & { readonly needsBackfill: boolean })[],
  at: EpochMs,
): Promise<void> {
  const first_seen_at = toTimestamp(at)
  const rows = records.map(({ path, column, type, neededType, formerColumns, needsBackfill }) => ({
    project_id: project,
    stream,
    path: encodeText(kind, path),
    column_name: column,
    type,
    needed_type: neededType,
    former_columns: encodeFormer(formerColumns),
    first_seen_at,
    fill_after: needsBackfill ? '' : null,
  }))
  for (const batch of batchesOf(rows, 200)) {
    await trx
      .insertInto('discovered_fields')
      .values(batch)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'stream', 'path']).doUpdateSet((eb) => ({
          column_name: eb.ref('excluded.column_name'),
          type: eb.ref('excluded.type'),
          needed_type: eb.ref('excluded.needed_type'),
          former_columns: eb.ref('excluded.former_columns'),
          fill_after: sql<
            string | null
          >`coalesce(excluded.fill_after, discovered_fields.fill_after)`,
        })),
      )
      .execute()
  }
  await sql`
    update discovered_fields set column_name = own.column_name, type = own.type, needed_type =
    own.needed_type,
      former_columns = own.former_columns
    from discovered_fields as own
    where own.project_id = ${project} and own.stream = ${stream} and own.column_name is not null
      and discovered_fields.stream = own.stream and discovered_fields.path = own.path
      and (discovered_fields.column_name is distinct from own.column_name
      or discovered_fields.type <> own.type
        or discovered_fields.needed_type is distinct from own.needed_type
        or discovered_fields.former_columns is distinct from own.former_columns)`.execute(trx)
}
