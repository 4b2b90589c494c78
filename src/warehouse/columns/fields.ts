/** Undocumented fields become columns as they appear, and wider ones as their values change type. */
import { type RawBuilder, sql } from 'kysely'
import { type DatabaseKind, declared } from '../../../schema/portable.ts'
import { tables } from '../../../schema/tables.ts'
import type { Extra, MirrorRow, StreamName } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'
import type { Db } from '../database/session.ts'
import { tableOf } from '../mirror/stream-tables.ts'
import { columnName } from './names.ts'
import { columnTypeOf, type FieldType, holds, typeOf, wider } from './type.ts'
import { widenColumn } from './widen.ts'

export type Field = {
  readonly path: string
  /** Null: the field stays in `raw` only. */
  readonly column: string | null
  readonly type: FieldType
}

export type FieldsOfStream = {
  readonly byPath: ReadonlyMap<string, Field>
  /** Those with a column, in a fixed order. */
  readonly held: readonly (Field & { readonly column: string })[]
}

export type Fields = {
  /** The fields of a stream with room for those of the rows: called before the rows are stored. */
  readonly admit: (stream: StreamName, rows: readonly MirrorRow[], at: number) => Promise<FieldsOfStream>
  /** Reads again what other processes may have found. */
  readonly forget: () => void
}

export type FieldOptions = {
  readonly db: Db
  readonly kind: DatabaseKind
  readonly project: string
  /** `freeze`: no new columns, no wider ones. */
  readonly schema: 'discover' | 'freeze'
}

/** A table of more columns serves nobody, and what a service names by ids would never end. */
const mostColumns = 300
/** Fields noted as staying in `raw`; beyond, they are not even noted. */
const mostNoted = 1000

type Known = FieldsOfStream & { readonly noted: ReadonlySet<string> }

export function createFields(options: FieldOptions): Fields {
  const known = new Map<StreamName, Known>()
  return {
    admit: async (stream, rows, at) => {
      const now = known.get(stream) ?? (await readFields(options.db, options.project, stream))
      known.set(stream, now)
      const asked = missing(now, rows, options.schema)
      if (asked.size === 0) return now
      const after = await options.db
        .transaction()
        .execute((trx) => enlarge(trx, options, stream, asked, at))
        .catch((error: unknown) => (isLockTimeout(error) ? now : Promise.reject(error)))
      known.set(stream, after)
      return after
    },
    forget: () => known.clear(),
  }
}

/** Columns are shared by the projects of a warehouse, so a field that any of them has is known to all. */
async function readFields(db: Db, project: string, stream: StreamName): Promise<Known> {
  const rows = await db
    .selectFrom('discovered_fields')
    .select(['project_id', 'path', 'column_name', 'type'])
    .where('stream', '=', stream)
    .orderBy('path')
    .orderBy('project_id')
    .execute()
  const byPath = new Map<string, Field>()
  for (const { path, column_name: column, type } of rows) {
    if (byPath.get(path)?.column == null) byPath.set(path, { path, column, type: type as FieldType })
  }
  const held = [...byPath.values()].flatMap((field) =>
    field.column === null ? [] : [{ ...field, column: field.column }],
  )
  return { byPath, held, noted: new Set(rows.filter((row) => row.project_id === project).map((row) => row.path)) }
}

/** Fields of the rows that are not known, or that a column does not hold, with the type that they ask for. */
function missing(known: Known, rows: readonly MirrorRow[], schema: FieldOptions['schema']): Map<string, FieldType> {
  const asked = new Map<string, FieldType>()
  for (const row of rows) {
    for (const [path, extra] of row.extra) {
      const type = needed(known, path, extra, schema)
      if (type === null) continue
      const before = asked.get(path)
      asked.set(path, before === undefined ? type : wider(before, type))
    }
  }
  return asked
}

function needed(known: Known, path: string, extra: Extra, schema: FieldOptions['schema']): FieldType | null {
  const field = known.byPath.get(path)
  if (field === undefined) return known.byPath.size < mostNoted ? typeOf(extra) : null
  const thawed = field.column === null && schema === 'discover' && known.held.length < mostColumns
  const narrow = field.column !== null && schema === 'discover' && !holds(field.type, extra)
  return narrow || thawed || !known.noted.has(path) ? typeOf(extra) : null
}

/** Makes room, in one transaction, one process at a time: what another one made meanwhile is found and used. */
async function enlarge(
  trx: Db,
  { kind, project, schema }: FieldOptions,
  stream: StreamName,
  asked: ReadonlyMap<string, FieldType>,
  at: number,
): Promise<Known> {
  if (kind === 'postgres') {
    await sql`select pg_advisory_xact_lock(hashtext('deskmirror.fields'))`.execute(trx)
    await sql`set local lock_timeout = '5s'`.execute(trx)
  }
  const table = tableOf[stream]
  const known = await readFields(trx, project, stream)
  const taken = new Set<string>([...Object.keys(tables[table].columns), ...(await columnsOf(trx, kind, table))])
  let columns = known.held.length
  for (const [path, type] of [...asked].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const field = known.byPath.get(path)
    const grown = field === undefined ? type : wider(field.type, type)
    let column = field?.column ?? null
    if (column === null && schema === 'discover' && columns < mostColumns) {
      column = columnName(path, taken)
      columns++
      await addColumn(trx, kind, table, column, grown)
      await note(trx, { project, stream, path, column, type: grown, at, fill: await hasRows(trx, table) })
    } else if (field !== undefined && column !== null && grown !== field.type && schema === 'discover') {
      const wide = await widenColumn(trx, kind, { table, column, from: field.type, to: grown, taken })
      const fill = wide !== column
      column = wide
      await note(trx, { project, stream, path, column, type: grown, at, fill })
    } else {
      await note(trx, { project, stream, path, column, type: field?.type ?? type, at, fill: false })
    }
    if (column !== null) taken.add(column)
  }
  return readFields(trx, project, stream)
}

/**
 * Somebody reads the table for long. A change of it would wait, and all readers after it too: so the rows go in without
 * the new columns, and these are filled from them when a later page gets them made. Code: Postgres, lock_not_available.
 */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}

async function columnsOf(trx: Db, kind: DatabaseKind, table: string): Promise<string[]> {
  const { rows } = await (kind === 'sqlite'
    ? sql<{ name: string }>`select name from pragma_table_info(${table})`
    : sql<{ name: string }>`select attname as name from pg_attribute
        where attrelid = to_regclass(${table}) and attnum > 0 and not attisdropped`
  ).execute(trx)
  return rows.map(({ name }) => name)
}

export async function addColumn(trx: Db, kind: DatabaseKind, table: string, column: string, type: FieldType) {
  const declaration: RawBuilder<unknown> = sql.raw(declared[kind][columnTypeOf[type]])
  await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} ${declaration}`.execute(trx)
}

/** Rows stored before the column was may hold the field all the same: then they are gone through once. */
async function hasRows(trx: Db, table: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(trx)
  return rows.length > 0
}

type Note = {
  readonly project: string
  readonly stream: StreamName
  readonly path: string
  readonly column: string | null
  readonly type: FieldType
  readonly at: number
  readonly fill: boolean
}

/** One row for this project; the other projects that have the field learn of its column and type. */
async function note(trx: Db, { project, stream, path, column, type, at, fill }: Note): Promise<void> {
  const state = { column_name: column, type, ...(fill ? { fill_after: '' } : {}) }
  await trx
    .insertInto('discovered_fields')
    .values({
      project_id: project,
      stream,
      path,
      first_seen_at: rfc3339(Math.floor(at / 1000)),
      fill_after: null,
      ...state,
    })
    .onConflict((conflict) => conflict.columns(['project_id', 'stream', 'path']).doUpdateSet(state))
    .execute()
  await trx
    .updateTable('discovered_fields')
    .set({ column_name: column, type })
    .where('stream', '=', stream)
    .where('path', '=', path)
    .execute()
}
