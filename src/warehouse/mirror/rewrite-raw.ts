/**
 * Shortens what an older version stored of messages, batch by batch: what their columns hold is not repeated. Rows are
 * readable in either form meanwhile, and a process that is killed has lost the work of one batch.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { asJsonObject, parseJson } from '../../core/json.ts'
import { fieldsNotInColumns, messageFields } from '../../core/message-fields.ts'
import type { Scalar } from '../../core/row.ts'
import type { Ms } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { acquireLock, listParameter } from '../database/dialect.ts'
import { decodeJson, encodeJson } from '../database/escape.ts'
import { acquireWriteLock } from './project-context.ts'

const rowsPerBatch = 1000
const rewriteName = 'messages.raw'

/** In Postgres every row that is rewritten is a second copy, whose space only a vacuum gives to the next ones. */
const rowsPerVacuum = 100_000

/** `onProgress`: how many rows have been looked at, and how many are left, as they were counted at the beginning. */
export type RewriteOptions = {
  readonly isOver?: () => boolean
  readonly onProgress?: (rows: number, left: number) => void
}

/** Returns how many rows were looked at, and whether all are done. */
export async function rewriteRaw(db: Db, kind: DatabaseKind, { isOver, onProgress }: RewriteOptions = {}) {
  const total = onProgress === undefined ? 0 : await countRowsLeft(db, kind)
  let rows = 0
  for (;;) {
    const batch = await db.transaction().execute((trx) => rewriteBatch(trx, kind))
    if (batch === null) return { rows, isComplete: true }
    rows += batch
    onProgress?.(rows, Math.max(0, total - rows))
    if (kind === 'postgres' && rows % rowsPerVacuum === 0) await sql`vacuum message_rows`.execute(db)
    if (isOver?.() === true) return { rows, isComplete: false }
  }
}

/** For the start of each sync run, which is not to wait for long. */
export async function rewriteRawFor(db: Db, kind: DatabaseKind, maxMs: Ms): Promise<void> {
  const until = performance.now() + maxMs
  await rewriteRaw(db, kind, { isOver: () => performance.now() > until })
}

/** A project, a conversation and a message. */
type Position = readonly [project: string, conversation: string, id: string]
type StoredRow = Readonly<Record<string, Scalar>> & { readonly raw: string | null }

/** The number of rows of the next batch; null = there is none. */
async function rewriteBatch(trx: Db, kind: DatabaseKind): Promise<number | null> {
  await acquireLock(trx, kind, 'deskmirror.rewrite')
  const after = await readPosition(trx)
  if (after === null) return null
  if (kind === 'postgres') await lockProjects(trx, await readAfter(trx, kind, after))
  const rows = await readAfter(trx, kind, after)
  await shortenRows(trx, kind, rows)
  const last = rows.at(-1)
  await (rows.length < rowsPerBatch || last === undefined
    ? sql`delete from sync_rewrites where name = ${rewriteName}`
    : sql`update sync_rewrites set position = ${JSON.stringify(positionOf(last))} where name = ${rewriteName}`
  ).execute(trx)
  return rows.length
}

/** Rows up to there have been rewritten; null = all have. */
async function readPosition(db: Db): Promise<Position | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_rewrites where name = ${rewriteName}`.execute(db)
  const [state] = rows
  if (state === undefined) return null
  return state.position === '' ? ['', '', '0'] : JSON.parse(state.position)
}

async function countRowsLeft(db: Db, kind: DatabaseKind): Promise<number> {
  const after = await readPosition(db)
  if (after === null) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from message_rows where ${isAfter(kind, after)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

async function readAfter(trx: Db, kind: DatabaseKind, after: Position): Promise<StoredRow[]> {
  const columns = sql.join(Object.values(messageFields).map(([column]) => sql.ref(column)))
  const { rows } = await sql<StoredRow>`
    select project_id, ${columns}, ${kind === 'sqlite' ? sql`raw` : sql`raw::text as raw`} from message_rows
    where ${isAfter(kind, after)}
    order by project_id, conversation_id, id limit ${rowsPerBatch}`.execute(trx)
  return rows
}

function isAfter(kind: DatabaseKind, [project, conversation, id]: Position): RawBuilder<unknown> {
  const integer = kind === 'sqlite' ? sql`cast(${id} as integer)` : sql`cast(${id} as bigint)`
  return sql`(project_id, conversation_id, id) > (${project}, ${conversation}, ${integer})`
}

function positionOf({ project_id: project, conversation_id: conversation, id }: StoredRow): Position {
  return [String(project), String(conversation), String(id)]
}

/** Nobody else writes rows of these projects until the end of the transaction. */
async function lockProjects(trx: Db, rows: readonly StoredRow[]): Promise<void> {
  for (const project of new Set(rows.map((row) => String(row.project_id))))
    await acquireWriteLock(trx, 'postgres', project)
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
