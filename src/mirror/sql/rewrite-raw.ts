/**
 * Shortens what an older version stored of messages: what their columns hold is not repeated. Rows are readable in either
 * form meanwhile.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { asJsonObject, parseJson, type Scalar } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { listParameter } from '../../warehouse/dialect.ts'
import { decodeJson, encodeJson } from '../../warehouse/escape.ts'
import { fieldsNotInColumns, messageFields } from '../core/message-fields.ts'
import { rewriteActivityKeys } from './rewrite-activity-keys.ts'
import { type Rewrite, type RewriteOptions, rewriteInBatches } from './rewrite-in-batches.ts'

/** The last row that has been rewritten. */
type Position = readonly [project: ProjectId, conversation: string, id: string]
type StoredRow = Readonly<Record<string, Scalar>> & { readonly project: ProjectId; readonly raw: string | null }

const rewrite: Rewrite<Position, StoredRow> = {
  name: 'messages.raw',
  table: 'message_rows',
  start: ['', '', '0'],
  rowsAfter: (kind, [project, conversation, id]) => {
    const columns = sql.join(Object.values(messageFields).map(([column]) => sql.ref(column)))
    return sql<StoredRow>`
      select project_id as project, ${columns}, cast(raw as text) as raw from message_rows
      where (project_id, conversation_id, id) > (${project}, ${conversation}, ${integer(kind, sql`${id}`)})
      order by project_id, conversation_id, id`
  },
  rewriteRows: async (trx, kind, rows, position) => {
    await shortenRows(trx, kind, rows)
    const last = rows.at(-1)
    return last === undefined ? position : positionOf(last)
  },
}

function integer(kind: DatabaseKind, value: ReturnType<typeof sql>) {
  return kind === 'sqlite' ? sql`cast(${value} as integer)` : sql`cast(${value} as bigint)`
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
    const ids = listParameter(
      kind,
      alike.map((row) => row.key[2]),
    )
    const listed = sql`select ${integer(kind, sql`value`)} from ${ids} as listed`
    await sql`
      update message_rows set raw = ${kind === 'postgres' && raw === '{}' ? null : raw}
      where project_id = ${project} and conversation_id = ${conversation}
        and id ${kind === 'sqlite' ? sql`in (${listed})` : sql`= any(array(${listed}))`}`.execute(trx)
  }
}

/** Null: it is short already. */
function shorten(kind: DatabaseKind, { raw, ...columns }: StoredRow): string | null {
  const message = raw === null ? null : asJsonObject(parseJson(decodeJson(kind, raw)))
  if (message === null || !Object.hasOwn(message, 'id')) return null
  return encodeJson(kind, fieldsNotInColumns(message, columns))
}

export function rewriteRaw(db: Db, kind: DatabaseKind, options?: RewriteOptions) {
  return rewriteInBatches(db, kind, rewrite, options)
}

/** Rewrites the rows that migrations have left to be rewritten. */
export async function rewriteRows(db: Db, kind: DatabaseKind, options: RewriteOptions) {
  const keys = await rewriteActivityKeys(db, kind, options)
  if (!keys.isComplete) return keys
  const onProgress = (rows: number, left: number) => options.onProgress?.(keys.rows + rows, left)
  const { rows, isComplete } = await rewriteRaw(db, kind, { ...options, onProgress })
  return { rows: keys.rows + rows, isComplete }
}
