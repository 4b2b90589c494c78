/**
 * The columns of undocumented fields in the target of a move. One that the target has with another
 * type, or for another field, is not copied: it is filled from `raw` later.
 */
import { sql } from 'kysely'
import {
  type ColumnType,
  columnTypeOf,
  columnTypes,
  type DatabaseKind,
  type FieldType,
} from '../../../schema/column-types.ts'
import { runOn } from '../../../schema/create-missing.ts'
import { createMessagesView } from '../../../schema/messages-view.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { storedTable } from '../../../schema/tables.ts'
import { showDiscoveredColumns } from '../../analytics/sql/views.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { readColumns } from '../../warehouse/dialect.ts'
import type { MoveSide } from './move-rows.ts'

type Field = {
  readonly owner: ProjectId
  readonly stream: StreamName
  readonly path: string
  readonly column: string | null
  readonly type: FieldType
  readonly former: string | null
}
type Column = { readonly name: string; readonly type: FieldType; readonly field: Field }

async function readFields(db: Db): Promise<readonly Field[]> {
  const { rows } = await sql<Field>`
    select project_id as owner, stream, path, column_name as "column", type,
    former_columns as former
    from discovered_fields where column_name is not null`.execute(db)
  return rows
}

const columnsOf = (field: Field): readonly Column[] => [
  { name: field.column ?? '', type: field.type, field },
  ...(JSON.parse(field.former ?? '[]') as Pick<Column, 'name' | 'type'>[]).map((one) => ({
    ...one,
    field,
  })),
]

/** `unfit`: fields whose column the target has otherwise. */
export async function prepareColumns(source: MoveSide, target: MoveSide, project: ProjectId) {
  const columns = new Map<string, Map<string, ColumnType>>()
  const unfit: Field[] = []
  const others = (await readFields(target.db)).filter(({ owner }) => owner !== project)
  const own = (await readFields(source.db)).filter(({ owner }) => owner === project)
  for (const [table, fields] of Map.groupBy(own, ({ stream }) => storedTable(stream))) {
    const inSource = new Set(
      (await readColumns(source.db, source.kind, table)).map(({ name }) => name),
    )
    const found = await readColumns(target.db, target.kind, table)
    const declared = new Map(found.map((column) => [column.name, column.declared]))
    const copied = new Map<string, ColumnType>()
    let isChanged = false
    for (const { name, type, field } of fields.flatMap(columnsOf)) {
      if (!inSource.has(name)) continue
      if (isTaken(others, field, name) || !suits(target.kind, declared.get(name), type)) {
        unfit.push(field)
        continue
      }
      copied.set(name, columnTypeOf(type))
      if (declared.has(name)) continue
      isChanged = true
      await sql`alter table ${sql.table(table)} add column ${sql.ref(name)}
        ${sql.raw(columnTypes[columnTypeOf(type)][target.kind])}`.execute(target.db)
    }
    if (isChanged && table === 'message_rows')
      await createMessagesView(runOn(target.db), target.kind)
    else if (isChanged) await showDiscoveredColumns(target.db, target.kind, table)
    columns.set(table, copied)
  }
  return { columns, unfit }
}

/** Another project has the column for another field, or the field in another column. */
function isTaken(others: readonly Field[], field: Field, name: string): boolean {
  return others.some(
    ({ stream, path, column }) =>
      storedTable(stream) === storedTable(field.stream) &&
      (column === name ? path !== field.path : path === field.path && name === field.column),
  )
}

function suits(kind: DatabaseKind, declared: string | undefined, type: FieldType): boolean {
  const wanted: string = columnTypes[columnTypeOf(type)][kind]
  return (
    declared === undefined ||
    declared.toLowerCase() === (wanted === 'timestamptz' ? 'timestamp with time zone' : wanted)
  )
}

/**
 * Such a field gets the column that others have, or another one, and is filled by the next sync.
 * Views that show fields by their paths are made anew, as all are known now.
 */
export async function releaseUnfit(
  { db, kind }: MoveSide,
  project: ProjectId,
  unfit: readonly Field[],
) {
  const others = (await readFields(db)).filter(({ owner }) => owner !== project)
  for (const { stream, path, type } of unfit) {
    const known = others.find((other) => other.stream === stream && other.path === path)
    await db
      .updateTable('discovered_fields')
      .set({
        column_name: known?.column ?? null,
        type: known?.type ?? type,
        needed_type: type,
        former_columns: known?.former ?? null,
        fill_after: '',
      })
      .where('project_id', '=', project)
      .where('stream', '=', stream)
      .where('path', '=', path)
      .execute()
  }
  await showDiscoveredColumns(db, kind, 'visitors')
}
