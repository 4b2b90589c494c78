/** Reads the mirror back: original rows in key order, and what the times of its rows show. */
import { type RawBuilder, sql } from 'kysely'
import { type DatabaseKind, plainType } from '../../../schema/column-types.ts'
import { erasedTables } from '../../../schema/mirror-tables.ts'
import type { MirrorRow } from '../../../schema/row.ts'
import { namesErased, storedSettings } from '../../../schema/row-owners.ts'
import {
  isPagedStream,
  type ListStreamName,
  type StreamName,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import { type ColumnSpec, tables } from '../../../schema/tables.ts'
import { idIdentity } from '../../service/core/path-segment.ts'
import { stringifyJson } from '../../values/json.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import {
  allOf,
  countRowsOf,
  inList,
  rowsParameter,
  typedParameter,
} from '../../warehouse/dialect.ts'
import { decodeJson, encodeJson, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { RowKey } from '../core/mirror.ts'
import { fromRowsWithIds } from './stored-ids.ts'
import { streamTables } from './stream-tables.ts'

/** Existing rows after a key, in key order. `parent`: only rows whose key begins with it. */
export async function readRows(
  context: ProjectDb,
  stream: StreamName,
  after: RowKey | null,
  limit: number,
  parent: string | null = null,
): Promise<{ key: RowKey; raw: string }[]> {
  const { db, kind, project } = context
  const { key: columns, firstKey } = streamTables[stream]
  const within = parent === null ? sql`` : sql`and ${sql.ref(firstKey)} = ${parent}`
  const where = sql`project_id = ${project} ${notDeleted(stream)} ${within}`
  const rows = await readRowsAfterKey(db, kind, {
    table: streamSpecs[stream].table,
    columns,
    where,
    after,
    limit,
  })
  return rows.map(({ key, raw }) => ({ key, raw: decodeJson(kind, raw) }))
}

export type KeyedTable = keyof typeof tables

/** Rows in key order, with `raw` as it is stored. `more`: what else is selected, as `values`. */
export async function readRowsAfterKey(
  db: Db,
  kind: DatabaseKind,
  range: {
    readonly table: KeyedTable
    readonly columns: readonly string[]
    readonly where: RawBuilder<unknown>
    readonly after: RowKey | null
    readonly limit: number
    readonly more?: readonly RawBuilder<unknown>[]
  },
) {
  const { table, columns, where, after, limit, more = [] } = range
  const refs = sql.join(columns.map((name) => sql.ref(name)))
  const from =
    after === null
      ? sql``
      : sql`and (${refs}) > (${sql.join(keyParameters(kind, table, columns, after))})`
  const selected = sql.join([refs, sql`cast(raw as text) as "raw text"`, ...more])
  const { rows } = await sql<Record<string, unknown>>`
    select ${selected} from ${sql.table(table)}
    where ${where} ${from} order by ${refs} limit ${limit}`.execute(db)
  return rows.map((values) => ({
    key: columns.map((name) => String(values[name])),
    raw: String(values['raw text']),
    values,
  }))
}

/** The parts of a key as parameters of the types of its columns. */
function keyParameters(
  kind: DatabaseKind,
  table: KeyedTable,
  columns: readonly string[],
  key: RowKey,
) {
  const specs: Readonly<Record<string, ColumnSpec>> = tables[table].columns
  return columns.map((name, i) => {
    const type = plainType[specs[name]?.[0] ?? 'key']
    return typedParameter(kind, type, type === 'integer' ? BigInt(key[i] ?? 0) : (key[i] ?? ''))
  })
}

/** A condition: the row with that key. */
export function hasKey(
  kind: DatabaseKind,
  table: KeyedTable,
  columns: readonly string[],
  key: RowKey,
): RawBuilder<unknown> {
  const parameters = keyParameters(kind, table, columns, key)
  return allOf(columns.map((name, n) => sql`${sql.ref(name)} = ${parameters[n]}`))
}

/** `ids`: the first part of their keys. For a child stream, use `readRows` with a parent. */
export async function readRawById(context: ProjectDb, stream: StreamName, ids: readonly string[]) {
  const { db, kind, project } = context
  const { firstKey, list } = streamTables[stream]
  const id = sql.ref(firstKey)
  const from = list
    ? fromRowsWithIds(context, list, ids)
    : sql`from ${sql.table(streamSpecs[stream].table)} where project_id = ${project}
      and ${id} ${inList(kind, ids)}`
  const { rows } = await sql<{ id: string; raw: string }>`
    select ${id} as id, cast(raw as text) as raw ${from} ${notDeleted(stream)}`.execute(db)
  const stored = new Map(rows.map((row) => [idIdentity(row.id), decodeJson(kind, row.raw)]))
  return new Map(
    ids.flatMap((asked) => {
      const raw = stored.get(idIdentity(asked))
      return raw === undefined ? [] : [[asked, raw] as const]
    }),
  )
}

/** Which of the ids, in lower case, were erased: nothing of them is stored again. */
export async function readErased({ db, kind, project }: ProjectDb, ids: readonly string[]) {
  const { rows } = await sql<{ id: string }>`
    select id from erased_ids where project_id = ${project} and id ${inList(kind, ids)}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** Which of the rows are not stored because they are of a person who was erased. */
export async function findErasedRows(
  { db, kind, project }: ProjectDb,
  stream: ListStreamName,
  rows: readonly MirrorRow[],
): Promise<ReadonlySet<MirrorRow>> {
  const { rows: erased } =
    await sql`select 1 from erased_ids where project_id = ${project} limit 1`.execute(db)
  if (erased.length === 0) return new Set()
  const { table } = streamSpecs[stream]
  const columns = (erasedTables[table] ?? []).flatMap(({ column, field }) =>
    field === null ? column : [],
  )
  const texts = rows.map(({ columns: values, item }, n) => ({
    n,
    project_id: project,
    raw: encodeJson(kind, stringifyJson(item)),
    ...Object.fromEntries(
      columns.map((name) => [name, encodeText(kind, String(values[name] ?? ''))]),
    ),
  }))
  const types = {
    n: 'integer',
    project_id: 'text',
    raw: 'text',
    ...Object.fromEntries(columns.map(asText)),
  } as const
  const given = rowsParameter<Readonly<Record<string, 'text' | 'integer'>>>(kind, types, texts)
  const raw = kind === 'sqlite' ? sql`raw` : sql`cast(raw as jsonb) as raw`
  const { rows: found } = await sql<{ n: number }>`
    select n from (select n, project_id, ${sql.join(columns.map((name) => sql.ref(name)))}, ${raw}
      from ${given} as given) as listed
    where ${sql.raw(namesErased(kind, table, storedSettings('listed')))}`.execute(db)
  return new Set(found.flatMap(({ n }) => rows[n] ?? []))
}

const asText = (name: string): [string, 'text'] => [name, 'text']

export function notDeleted(stream: StreamName) {
  return streamTables[stream].hasDeletedAt ? sql`and deleted_at is null` : sql``
}

/** Of the calls up to `until`, the `newest`-th, 1 = the newest; null if there are fewer. */
export async function nthNewestCallTime(
  { db, project }: ProjectDb,
  newest: number,
  until: EpochSeconds,
) {
  const { rows } = await sql<{ at: string }>`
    select occurred_at as at from calls
    where project_id = ${project} and deleted_at is null and occurred_at <= ${rfc3339(until)}
    order by occurred_at desc limit 1 offset ${newest - 1}`.execute(db)
  return parseTime(rows[0]?.at) ?? null
}

/** Null: there is none. */
export async function nextCallTime({ db, project }: ProjectDb, from: EpochSeconds) {
  const { rows } = await sql<{ at: string }>`
    select occurred_at as at from calls
    where project_id = ${project} and deleted_at is null and occurred_at >= ${rfc3339(from)}
    order by occurred_at limit 1`.execute(db)
  return parseTime(rows[0]?.at) ?? null
}

/** How many existing rows are dated after `cursorLimit`, counted up to `limit`. */
export async function countFutureRows(
  context: ProjectDb,
  stream: StreamName,
  cursorLimit: EpochSeconds,
  limit: number,
): Promise<number> {
  const timeColumn = isPagedStream(stream) ? await timeColumnOf(context, stream) : null
  if (timeColumn === null) return 0
  const ahead = sql`(select 1 as one from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${context.project} and deleted_at is null
    and ${sql.ref(timeColumn)} > ${rfc3339(cursorLimit)} limit ${limit}) as listed`
  return countRowsOf(context.db, ahead)
}

/**
 * The column that says when a row last happened. Among undocumented fields, the one that orders the
 * list; null = not known, or it has no column.
 */
export async function timeColumnOf(
  { db, project }: ProjectDb,
  stream: StreamName,
): Promise<string | null> {
  const { timeColumn } = streamSpecs[stream]
  if (timeColumn !== null) return timeColumn
  const { rows } = await sql<{ value: string }>`
    select value from service_behaviours where project_id = ${project}
    and name = ${`${stream}.order`}`.execute(db)
  const path = rows[0]?.value.split(' by ')[1]?.split(' or ')[0]
  if (path === undefined) return null
  const fields = await sql<{ column: string | null }>`
    select column_name as "column" from discovered_fields
    where stream = ${stream} and path = ${path} and type = 'timestamp' limit 1`.execute(db)
  return fields.rows[0]?.column ?? null
}
