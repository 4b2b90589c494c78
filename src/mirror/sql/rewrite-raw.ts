/**
 * Shortens what an older version stored of messages: what their columns hold is not repeated. Rows are readable in either
 * form meanwhile.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { Scalar } from '../../values/json.ts'
import { asJsonObject, parseJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { listParameter } from '../../warehouse/dialect.ts'
import { decodeJson, encodeJson } from '../../warehouse/escape.ts'
import { fieldsNotInColumns, messageFields } from '../core/message-fields.ts'
import { type Rewrite, type RewriteOptions, rewriteInBatches, rowsPerBatch } from './rewrite-in-batches.ts'

/** The last row that has been rewritten. */
type Position = readonly [project: ProjectId, conversation: string, id: string]
type StoredRow = Readonly<Record<string, Scalar>> & { readonly project: ProjectId; readonly raw: string | null }

const rewrite: Rewrite<Position, StoredRow> = {
  name: 'messages.raw',
  table: 'message_rows',
  start: ['', '', '0'],
  isLeft: isAfter,
  readRows: readAfter,
  rewriteRows: async (trx, kind, rows, position) => {
    await shortenRows(trx, kind, rows)
    const last = rows.at(-1)
    return last === undefined ? position : positionOf(last)
  },
}

export function rewriteRaw(db: Db, kind: DatabaseKind, options?: RewriteOptions) {
  return rewriteInBatches(db, kind, rewrite, options)
}

/** For the start of each sync run, which is not to wait for long. */
export async function rewriteRawFor(db: Db, kind: DatabaseKind, maxMs: Ms): Promise<void> {
  const until = performance.now() + maxMs
  await rewriteRaw(db, kind, { isOver: () => performance.now() > until })
}

async function readAfter(trx: Db, kind: DatabaseKind, after: Position): Promise<StoredRow[]> {
  const columns = sql.join(Object.values(messageFields).map(([column]) => sql.ref(column)))
  const { rows } = await sql<StoredRow>`
    select project_id as project, ${columns}, ${kind === 'sqlite' ? sql`raw` : sql`raw::text as raw`} from message_rows
    where ${isAfter(kind, after)}
    order by project_id, conversation_id, id limit ${rowsPerBatch}`.execute(trx)
  return rows
}

function isAfter(kind: DatabaseKind, [project, conversation, id]: Position): RawBuilder<unknown> {
  const integer = kind === 'sqlite' ? sql`cast(${id} as integer)` : sql`cast(${id} as bigint)`
  return sql`(project_id, conversation_id, id) > (${project}, ${conversation}, ${integer})`
}

function positionOf({ project, conversation_id: conversation, id }: StoredRow): Position {
  return [project, String(conversation), String(id)]
}

/** One statement for the rows of a conversation that keep the same, as most keep nothing: each is a round trip in Postgres. */
async function shortenRows(trx: Db, kind: DatabaseKind, rows: readonly StoredRow[]): Promise<void> {
  const shortened = rows.flatMap((row) => {
    const raw = shorten(kind, row)
    return raw === null ? [] : [{ key: positionOf(row), raw }]
  })
  for (const alike of Map.groupBy(shortened, ({ key: [project, conversation], raw }) =>
    JSON.stringify([project, conversation, raw]),
  ).values()) {
    const [{ key: [project, conversation] = [], raw } = {}] = alike
    const ids = alike.map((row) => row.key[2])
    await sql`
      update message_rows set raw = ${kind === 'postgres' && raw === '{}' ? null : raw}
      where project_id = ${project} and conversation_id = ${conversation} and id ${inIntegers(kind, ids)}`.execute(trx)
  }
}

/** Null: it is short already. */
function shorten(kind: DatabaseKind, { raw, ...columns }: StoredRow): string | null {
  const message = raw === null ? null : asJsonObject(parseJson(decodeJson(kind, raw)))
  if (message === null || !Object.hasOwn(message, 'id')) return null
  return encodeJson(kind, fieldsNotInColumns(message, columns))
}

/** A condition as `inList` makes it, for integers. */
function inIntegers(kind: DatabaseKind, values: readonly string[]) {
  const list = listParameter(kind, values)
  return kind === 'sqlite'
    ? sql`in (select cast(value as integer) from ${list} as listed)`
    : sql`= any(array(select cast(value as bigint) from ${list} as listed))`
}
