/** Reads whole tables and views from one state of the database, in batches of bounded size. */
import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { toCanonicalJson } from '../../values/json.ts'
import { type EpochSeconds, normalizeTime } from '../../values/time.ts'
import { errorCode, UserError } from '../../values/user-error.ts'
import {
  beginSnapshot,
  type ConnectionPool,
  type Db,
  type DbConnection,
} from '../../warehouse/connection-pool.ts'
import { typedParameter } from '../../warehouse/dialect.ts'
import { decodeJson, encodeText } from '../../warehouse/escape.ts'
import { batchReader } from '../../warehouse/postgres-cursor.ts'
import type { SnapshotReader } from '../../warehouse/transactions.ts'
import type {
  ExportColumn,
  ExportCondition,
  ExportRow,
  ExportSelection,
  ExportType,
  ExportValue,
  ObjectName,
} from '../core/selection.ts'
import { monthsQuery, toMonthStates } from './months.ts'
import { describeObject, listObjects, type SourceObject } from './objects.ts'

/** The transaction only reads. It keeps no one from writing, in neither database. */
export async function withSnapshot<T>(
  db: Db,
  pool: ConnectionPool,
  work: (snapshot: ExportSnapshot) => Promise<T>,
): Promise<T> {
  const connection = await pool.acquire()
  let isBroken = false
  try {
    await connection.run(beginSnapshot[pool.kind], [])
    return await work(createSnapshot(db, pool.kind, connection))
  } finally {
    await connection.run('rollback', []).catch(() => {
      isBroken = true
    })
    connection.release(isBroken)
  }
}

/** One state of the warehouse: what others commit meanwhile is not seen. */
export type ExportSnapshot = ReturnType<typeof createSnapshot>

function createSnapshot(db: Db, kind: DatabaseKind, connection: DbConnection) {
  const { local } = connection
  const run: SnapshotReader = async <Row>(query: RawBuilder<Row>) => {
    const { sql, parameters } = query.compile(db)
    return (await connection.run(sql, parameters)).rows as Row[]
  }
  const readBatches = batchReader(connection)
  const described = new Map<string, Promise<SourceObject>>()
  const describe = (object: ObjectName) => {
    const source = described.get(object.name) ?? describeObject(run, local, object)
    described.set(object.name, source)
    return source.catch((error: unknown) => explainViewError(object, error))
  }
  return {
    /** Tables and views that may be read, by name. */
    listObjects: () => listObjects(run, kind),
    describe,
    countRows: async (selection: ExportSelection) => {
      const rows = await run(
        sql<{ rows: number }>`select count(*) as rows ${fromWhere(kind, selection)}`,
      )
      return rows[0]?.rows ?? 0
    },
    /** How many rows each month has, and what they tell of their change. */
    readMonths: async (
      selection: ExportSelection,
      timeColumn: string | null,
      now: EpochSeconds,
    ) => {
      const { columns } = await describe(selection.object)
      const time = columns.find(({ name }) => name === timeColumn) ?? null
      const from = fromWhere(kind, selection)
      return toMonthStates(await run(monthsQuery(kind, selection.object, time, from)), now)
    },
    /** What was erased, and which columns are kept: a text that is another one after a change. */
    readRemovals: async () => {
      const rows = await run(sql<{ what: string }>`
        select 'erased ' || count(*) || coalesce(cast(max(case when project_id = ''
        then searched_at end) as text), '') as what from erased_ids
        union all select project_id || ' ' || stream || ' ' || position from sync_cursors
        where stream like 'columns:%' order by 1`)
      return createHash('sha256').update(JSON.stringify(rows)).digest('hex')
    },
    /** Batches of bounded size. */
    async *readRows(selection: ExportSelection): AsyncGenerator<readonly ExportRow[]> {
      const { object, columns } = selection
      const source = await describe(object)
      const decoders = columns.map((column) => createValueDecoder(object.name, column, kind))
      const names = columns.map(({ name }) => name)
      const { sql, parameters } = rowsQuery(kind, selection, source).compile(db)
      try {
        for await (const batch of readBatches(sql, parameters, names)) {
          yield batch.map((row): ExportRow => decoders.map((decode, n) => decode(row[n])))
        }
      } catch (error) {
        explainViewError(object, error)
      }
    },
  }
}

/** A view may be wrong, which is for its author. The driver's message may quote values. */
function explainViewError({ name, kind }: ObjectName, error: unknown): never {
  const code = errorCode(error)
  if (kind !== 'view' || code === '' || error instanceof UserError) throw error
  throw new UserError({
    what: `cannot export ${name}`,
    why: `the database cannot compute this view (${code})`,
    next: `correct it: \`select * from ${name}\` in the database shows the error`,
  })
}

/** The rows of a selection, in key order. */
function rowsQuery(
  kind: DatabaseKind,
  selection: ExportSelection,
  source: SourceObject,
): RawBuilder<unknown> {
  const columns = selection.columns.map(({ name }) => selectedColumn(kind, source, name))
  return sql`select ${sql.join(columns)} ${fromWhere(kind, selection)}
    order by ${sql.join(orderBy(kind, source))}`
}

/** The types of Postgres whose values arrive as the export needs them. */
const nativeTypes =
  /^(bigint|integer|smallint|double precision|real|numeric|boolean|timestamp with time zone|date|jsonb?|text)$/

function selectedColumn(
  kind: DatabaseKind,
  { columns }: SourceObject,
  name: string,
): RawBuilder<unknown> {
  const declared = columns.find((column) => column.name === name)?.declared ?? ''
  const isNative = kind === 'sqlite' || nativeTypes.test(declared)
  return isNative ? sql.id(name) : sql`cast(${sql.id(name)} as text) as ${sql.id(name)}`
}

/** By the key, whose index serves; else by all columns, compared alike in both databases. */
function orderBy(
  kind: DatabaseKind,
  { key, columns }: SourceObject,
): readonly RawBuilder<unknown>[] {
  if (key.length > 0) return key.map((name) => sql.id(name))
  const comparable = columns.filter(({ type }) => type !== 'json')
  return comparable.map(({ name, declared }) => {
    const collation =
      kind === 'postgres' && /^(text|char|character varying|name)/.test(declared)
        ? sql`collate "C"`
        : sql``
    return sql`${sql.id(name)} ${collation} nulls first`
  })
}

function fromWhere(
  kind: DatabaseKind,
  { object, conditions }: ExportSelection,
): RawBuilder<unknown> {
  const where = conditions.map((condition) => toSql(kind, condition))
  const filter = where.length === 0 ? sql`` : sql`where ${sql.join(where, sql` and `)}`
  return sql`from ${sql.id(object.name)} ${filter}`
}

function toSql(
  kind: DatabaseKind,
  { column, operator, value }: ExportCondition,
): RawBuilder<unknown> {
  if (value === null) return sql`${sql.id(column.name)} is null`
  const stored =
    typeof value === 'string' && column.type === 'text' ? encodeText(kind, value) : value
  const sqlValue = kind === 'sqlite' && typeof stored === 'boolean' ? Number(stored) : stored
  return sql`${sql.id(column.name)} ${sql.raw(operator)}
    ${typedParameter(kind, column.type, sqlValue)}`
}

/**
 * To values that are the same for both databases. Throws UserError for one that its column's type
 * cannot express, which only foreign tables of SQLite have.
 */
function createValueDecoder(object: string, { name, type }: ExportColumn, kind: DatabaseKind) {
  return (value: unknown): ExportValue => {
    if (value === null || value === undefined) return null
    const decoded = decoders[type](value, kind)
    if (decoded !== undefined) return decoded
    throw new UserError({
      what: `cannot export ${object}`,
      why: `its column ${name} is declared as ${type} and has a value of another type`,
      next: 'correct the value, or leave the column out with --columns',
    })
  }
}

/** Undefined: the value is not of the type. */
const decoders: Readonly<
  Record<ExportType, (value: unknown, kind: DatabaseKind) => ExportValue | undefined>
> = {
  text: toText,
  integer: (value) => {
    if (typeof value === 'bigint') return value
    return typeof value === 'number' && Number.isInteger(value) ? value : undefined
  },
  number: (value) =>
    typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined,
  boolean: (value) => {
    if (typeof value === 'boolean') return value
    return value === 0 || value === 1 ? value === 1 : undefined
  },
  time: toTime,
  date: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined,
  json: (value, kind) => toCanonicalJson(decodeJson(kind, String(value))),
}

/** As Postgres stores it, which has no NUL. In SQLite a text may have one. */
function toText(value: unknown): string {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  const text = typeof value === 'string' ? value : String(value)
  return text.includes('\0') ? text.replaceAll('\0', encodeText('postgres', '\0')) : text
}

function toTime(value: unknown): string | undefined {
  // `2026-01-01 00:00:00`, without a zone: as SQLite's own functions write it, in UTC.
  return typeof value === 'string'
    ? (normalizeTime(value) ?? normalizeTime(`${value}Z`))
    : undefined
}
