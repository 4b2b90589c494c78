/** Undocumented fields become columns as they appear, and wider ones as their values change type. */
import { type RawBuilder, sql } from 'kysely'
import { type DatabaseKind, declared } from '../../../schema/portable.ts'
import { tables } from '../../../schema/tables.ts'
import type { Extra, MirrorRow, StreamName } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'
import { decodeText, encodeText } from '../database/escape.ts'
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
/** Characters. A path is part of a key, and an index holds no long ones; nor does anybody read such names. */
const longestPath = 300

type Known = FieldsOfStream & { readonly noted: ReadonlySet<string> }

export function createFields(options: FieldOptions): Fields {
  const known = new Map<StreamName, Known>()
  return {
    admit: async (stream, rows, at) => {
      const now = known.get(stream) ?? (await readFields(options.db, options.project, stream))
      known.set(stream, now)
      const asked = missing(now, rows, options.schema)
      if (asked.size === 0) return now
      const grow = (how: FieldOptions) =>
        options.db.transaction().execute((trx) => enlarge(trx, how, stream, asked, at))
      const after = await grow(options)
        .catch((error: unknown) =>
          isTableFull(error) ? grow({ ...options, schema: 'freeze' }) : Promise.reject(error),
        )
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
  const noted = new Set<string>()
  for (const { project_id, path: stored, column_name: column, type } of rows) {
    const path = decodeText(stored)
    if (byPath.get(path)?.column == null) byPath.set(path, { path, column, type: type as FieldType })
    if (project_id === project) noted.add(path)
  }
  const held = [...byPath.values()].flatMap((field) =>
    field.column === null ? [] : [{ ...field, column: field.column }],
  )
  return { byPath, held, noted }
}

/** Fields of the rows that are not known, or that a column does not hold, with the type that they ask for. */
function missing(known: Known, rows: readonly MirrorRow[], schema: FieldOptions['schema']): Map<string, FieldType> {
  const asked = new Map<string, FieldType>()
  for (const row of rows) {
    for (const [path, extra] of row.extra) {
      if (path.length > longestPath) continue
      const before = asked.get(path)
      const room = before !== undefined || asked.size < mostNoted
      const type = room ? needed(known, path, extra, schema) : null
      if (type !== null) asked.set(path, before === undefined ? type : wider(before, type))
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
  const notes: Note[] = []
  const added: NewColumn[] = []
  for (const [path, type] of [...asked].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const field = known.byPath.get(path)
    const grown = field === undefined ? type : wider(field.type, type)
    const column = field?.column ?? null
    if (column === null && schema === 'discover' && known.held.length + added.length < mostColumns) {
      const name = columnName(path, taken)
      added.push({ column: name, type: grown })
      notes.push({ path, column: name, type: grown, fill: true })
      taken.add(name)
    } else if (field !== undefined && column !== null && grown !== field.type && schema === 'discover') {
      const wide = await widenColumn(trx, kind, { table, column, from: field.type, to: grown, taken })
      notes.push({ path, column: wide, type: grown, fill: wide !== column })
      taken.add(wide)
    } else {
      notes.push({ path, column, type: field?.type ?? type, fill: false })
    }
  }
  const filled = added.length === 0 || (await hasRows(trx, table))
  await addColumns(trx, kind, table, added)
  await note(trx, { kind, project, stream, at }, filled ? notes : notes.map((one) => ({ ...one, fill: false })))
  return readFields(trx, project, stream)
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

async function columnsOf(trx: Db, kind: DatabaseKind, table: string): Promise<string[]> {
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
    const declaration: RawBuilder<unknown> = sql.raw(declared[kind][columnTypeOf[type]])
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

type Note = {
  readonly path: string
  readonly column: string | null
  readonly type: FieldType
  /** Rows that are there are to be gone through for it. */
  readonly fill: boolean
}
type About = {
  readonly kind: DatabaseKind
  readonly project: string
  readonly stream: StreamName
  readonly at: number
}

/** Rows for this project; the other projects that have a field learn of its column and type. */
async function note(trx: Db, { kind, project, stream, at }: About, notes: readonly Note[]): Promise<void> {
  const first_seen_at = rfc3339(Math.floor(at / 1000))
  const rows = notes.map(({ path, column, type, fill }) => ({
    ...{ project_id: project, stream, path: encodeText(kind, path), column_name: column, type },
    ...{ first_seen_at, fill_after: fill ? '' : null },
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
