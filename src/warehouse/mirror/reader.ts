/** Reading the mirror back: rows as they came, in the order of their keys, and what the walks need to know of it. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { type ColumnSpec, tables } from '../../../schema/tables.ts'
import type { StreamName } from '../../core/row.ts'
import { parseTime, rfc3339, type Seconds } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { typedParameter, listParameter } from '../database/dialect.ts'
import { decodeJson } from '../database/escape.ts'
import type { ProjectContext } from './project-context.ts'
import { type MirroredTable, withoutNullability, tableOfStream } from './stream-tables.ts'

/** The parts of a row's key, `project_id` left out: texts, and integers as texts. */
export type RowKey = readonly string[]

/** Living rows after a key, in key order. `parent`: only those whose key begins with it. */
export async function readRows(
  context: ProjectContext,
  stream: StreamName,
  after: RowKey | null,
  limit: number,
  parent: string | null = null,
): Promise<{ key: RowKey; raw: string }[]> {
  const { db, kind, project } = context
  const columns = keyColumns(stream)
  const within = parent === null ? sql`` : sql`and ${sql.ref(columns[0] ?? 'id')} = ${parent}`
  const where = sql`project_id = ${project} ${notDeleted(stream)} ${within}`
  const rows = await readRowsAfterKey(db, kind, { table: tableOfStream[stream], columns, where, after, limit })
  return rows.map(({ key, raw }) => ({ key, raw: decodeJson(kind, raw) }))
}

type KeyRange = {
  readonly table: MirroredTable
  readonly columns: readonly string[]
  readonly where: RawBuilder<unknown>
  readonly after: RowKey | null
  readonly limit: number
}

/** Rows in the order of their keys, with `raw` as it is stored. */
export async function readRowsAfterKey(
  db: Db,
  kind: DatabaseKind,
  { table, columns, where, after, limit }: KeyRange,
): Promise<{ key: RowKey; raw: string }[]> {
  const refs = sql.join(columns.map((name) => sql.ref(name)))
  const from = after === null ? sql`` : sql`and (${refs}) > (${sql.join(keyParameters(kind, table, columns, after))})`
  const { rows } = await sql<Record<string, unknown>>`
    select ${refs}, ${rawColumn(kind)} as raw from ${sql.table(table)}
    where ${where} ${from} order by ${refs} limit ${limit}`.execute(db)
  return rows.map((row) => ({ key: columns.map((name) => String(row[name])), raw: String(row.raw) }))
}

/** The parts of a key as parameters of the types of its columns. */
export function keyParameters(kind: DatabaseKind, table: MirroredTable, columns: readonly string[], key: RowKey) {
  const specs: Readonly<Record<string, ColumnSpec>> = tables[table].columns
  return columns.map((name, i) => {
    const type = withoutNullability(specs[name]?.[0] ?? 'key')
    return typedParameter(kind, type, type === 'integer' ? BigInt(key[i] ?? 0) : (key[i] ?? ''))
  })
}

/** Living rows among `ids` (the first part of the key) by that part; of a child stream, use `readRows` with a parent. */
export async function readRawById(context: ProjectContext, stream: StreamName, ids: readonly string[]): Promise<Map<string, string>> {
  const id = sql.ref(keyColumns(stream)[0] ?? 'id')
  const { rows } = await sql<{ id: string; raw: string }>`
    select ${id} as id, ${rawColumn(context.kind)} as raw from ${sql.table(tableOfStream[stream])}
    where project_id = ${context.project} ${notDeleted(stream)} and ${id} in (select value from ${listParameter(context.kind, ids)} as listed)
    `.execute(context.db)
  return new Map(rows.map((row) => [row.id, decodeJson(context.kind, row.raw)]))
}

function keyColumns(stream: StreamName): string[] {
  return tables[tableOfStream[stream]].key.filter((name) => name !== 'project_id')
}

function rawColumn(kind: DatabaseKind) {
  return kind === 'sqlite' ? sql`raw` : sql`raw::text`
}

function notDeleted(stream: StreamName) {
  return 'deleted_at' in tables[tableOfStream[stream]].columns ? sql`and deleted_at is null` : sql``
}

/** The `newest`-th newest moment of a call up to `until`, 1 = the newest; null if there are fewer. */
export async function nthNewestCallTime(context: ProjectContext, newest: number, until: Seconds): Promise<Seconds | null> {
  const row = await context.db
    .selectFrom('calls')
    .select('occurred_at')
    .where('project_id', '=', context.project)
    .where('deleted_at', 'is', null)
    .where('occurred_at', '<=', rfc3339(until))
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .offset(newest - 1)
    .executeTakeFirst()
  return parseTime(row?.occurred_at) ?? null
}

/** Before the first service of this kind: a row that is dated earlier has a wrong clock or none. */
const earliestPlausible = '2000-01-01T00:00:00Z'

/** The earliest moment that a mirrored row speaks of, of the times that are indexed and can be right. */
export async function earliestTime(context: ProjectContext): Promise<Seconds | null> {
  const moments = await readTimes(
    context,
    sql`
    select min(created_at) as at from conversations where project_id = ${context.project} and created_at >= ${earliestPlausible}
    union all select min(created_at) from messages where project_id = ${context.project} and created_at >= ${earliestPlausible}
    union all select min(occurred_at) from calls where project_id = ${context.project} and occurred_at >= ${earliestPlausible}
    union all select min(occurred_at) from visitor_activity
      where project_id = ${context.project} and occurred_at >= ${earliestPlausible}`,
  )
  return moments.length === 0 ? null : Math.min(...moments)
}

/** When the latest message was written that any row tells of, likewise; a handled conversation does not tell of its own. */
export async function latestMessageTime(context: ProjectContext): Promise<Seconds | null> {
  const moments = await readTimes(
    context,
    sql`
    select max(created_at) as at from messages where project_id = ${context.project}
    union all select max(last_message_at) from conversations where project_id = ${context.project} and handled_at is null`,
  )
  return moments.length === 0 ? null : Math.max(...moments)
}

async function readTimes(context: ProjectContext, query: RawBuilder<unknown>): Promise<Seconds[]> {
  const { rows } = await sql<{ at: string | null }>`${query}`.execute(context.db)
  return rows.map(({ at }) => parseTime(at)).filter((at) => at !== undefined)
}
