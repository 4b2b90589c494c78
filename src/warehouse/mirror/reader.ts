/** Reading the mirror back: rows as they came, in the order of their keys, and what the walks need to know of it. */
import { type RawBuilder, sql } from 'kysely'
import { tables } from '../../../schema/tables.ts'
import type { StreamName } from '../../core/row.ts'
import { moment, rfc3339, type Seconds } from '../../core/time.ts'
import { bound, each } from '../database/dialect.ts'
import { decodeJson } from '../database/escape.ts'
import type { Context } from './context.ts'
import { bare, tableOf } from './stream-tables.ts'

/** The parts of a row's key, `project_id` left out: texts, and integers as texts. */
export type RowKey = readonly string[]

/** Living rows after a key, in key order. `parent`: only those whose key begins with it. */
export async function readRows(
  c: Context,
  stream: StreamName,
  after: RowKey | null,
  limit: number,
  parent: string | null = null,
): Promise<{ key: RowKey; raw: string }[]> {
  const names = keyOf(stream)
  const refs = sql.join(names.map((name) => sql.ref(name)))
  const from =
    after === null ? sql`` : sql`and (${refs}) > (${sql.join(after.map((part, i) => typed(c, stream, i, part)))})`
  const within = parent === null ? sql`` : sql`and ${sql.ref(names[0] ?? 'id')} = ${parent}`
  const { rows } = await sql<Record<string, unknown>>`
    select ${refs}, ${rawText(c)} as raw from ${sql.table(tableOf[stream])}
    where project_id = ${c.project} ${living(stream)} ${within} ${from} order by ${refs} limit ${limit}`.execute(c.db)
  return rows.map((row) => ({
    key: names.map((name) => String(row[name])),
    raw: decodeJson(c.kind, String(row.raw)),
  }))
}

/** Living rows among `ids` (the first part of the key) by that part; of a child stream, use `readRows` with a parent. */
export async function rawOf(c: Context, stream: StreamName, ids: readonly string[]): Promise<Map<string, string>> {
  const id = sql.ref(keyOf(stream)[0] ?? 'id')
  const { rows } = await sql<{ id: string; raw: string }>`
    select ${id} as id, ${rawText(c)} as raw from ${sql.table(tableOf[stream])}
    where project_id = ${c.project} ${living(stream)} and ${id} in (select value from ${each(c.kind, ids)} as listed)
    `.execute(c.db)
  return new Map(rows.map((row) => [row.id, decodeJson(c.kind, row.raw)]))
}

function keyOf(stream: StreamName): string[] {
  return tables[tableOf[stream]].key.filter((name) => name !== 'project_id')
}

function typed(c: Context, stream: StreamName, i: number, part: string) {
  const columns: Readonly<Record<string, readonly [Parameters<typeof bare>[0], string]>> =
    tables[tableOf[stream]].columns
  const type = bare(columns[keyOf(stream)[i] ?? '']?.[0] ?? 'key')
  return bound(c.kind, type, type === 'integer' ? BigInt(part) : part)
}

function rawText(c: Context) {
  return c.kind === 'sqlite' ? sql`raw` : sql`raw::text`
}

function living(stream: StreamName) {
  return 'deleted_at' in tables[tableOf[stream]].columns ? sql`and deleted_at is null` : sql``
}

/** The `newest`-th newest moment of a call up to `until`, 1 = the newest; null if there are fewer. */
export async function callBefore(c: Context, newest: number, until: Seconds): Promise<Seconds | null> {
  const row = await c.db
    .selectFrom('calls')
    .select('occurred_at')
    .where('project_id', '=', c.project)
    .where('deleted_at', 'is', null)
    .where('occurred_at', '<=', rfc3339(until))
    .orderBy('occurred_at', 'desc')
    .limit(1)
    .offset(newest - 1)
    .executeTakeFirst()
  return moment(row?.occurred_at) ?? null
}

/** Before the first service of this kind: a row that is dated earlier has a wrong clock or none. */
const implausible = '2000-01-01T00:00:00Z'

/** The earliest moment that a mirrored row speaks of, of the times that are indexed and can be right. */
export async function earliest(c: Context): Promise<Seconds | null> {
  const moments = await momentsOf(
    c,
    sql`
    select min(created_at) as at from conversations where project_id = ${c.project} and created_at >= ${implausible}
    union all select min(created_at) from messages where project_id = ${c.project} and created_at >= ${implausible}
    union all select min(occurred_at) from calls where project_id = ${c.project} and occurred_at >= ${implausible}
    union all select min(occurred_at) from visitor_activity
      where project_id = ${c.project} and occurred_at >= ${implausible}`,
  )
  return moments.length === 0 ? null : Math.min(...moments)
}

/** When the latest message was written that any row tells of, likewise; a handled conversation does not tell of its own. */
export async function latestMessage(c: Context): Promise<Seconds | null> {
  const moments = await momentsOf(
    c,
    sql`
    select max(created_at) as at from messages where project_id = ${c.project}
    union all select max(last_message_at) from conversations where project_id = ${c.project} and handled_at is null`,
  )
  return moments.length === 0 ? null : Math.max(...moments)
}

async function momentsOf(c: Context, query: RawBuilder<unknown>): Promise<Seconds[]> {
  const { rows } = await sql<{ at: string | null }>`${query}`.execute(c.db)
  return rows.map(({ at }) => moment(at)).filter((at) => at !== undefined)
}
