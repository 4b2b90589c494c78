/**
 * Shortens `raw` of messages that an older version stored, portion by portion: what their columns hold is not repeated.
 * Rows are readable in either form meanwhile, and a process that is killed has lost one portion of work.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import { asJsonObject, parseJson } from '../../core/json.ts'
import { fieldsNotInColumns } from '../../core/message-fields.ts'
import type { Ms } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { acquireLock, listParameter } from '../database/dialect.ts'
import { decodeJson, encodeJson } from '../database/escape.ts'
import { acquireWriteLock } from './project-context.ts'
import { readRowsAfterKey, type StoredRow } from './reader.ts'

const rowsPerPortion = 1000
const rewriteName = 'messages.raw'
const { key } = tables.messages

/** `onProgress`: how many rows have been looked at. */
export type RewriteOptions = {
  readonly isOver?: () => boolean
  readonly onProgress?: (rows: number) => void
}

/** Returns how many rows were looked at, and whether all are done. */
export async function rewriteRaw(db: Db, kind: DatabaseKind, { isOver, onProgress }: RewriteOptions = {}) {
  let rows = 0
  for (;;) {
    const portion = await db.transaction().execute((trx) => rewritePortion(trx, kind))
    if (portion === null) return { rows, isComplete: true }
    rows += portion
    onProgress?.(rows)
    if (isOver?.() === true) return { rows, isComplete: false }
  }
}

/** For the start of each sync run, which is not to wait for long. */
export async function rewriteRawFor(db: Db, kind: DatabaseKind, maxMs: Ms): Promise<void> {
  const until = performance.now() + maxMs
  await rewriteRaw(db, kind, { isOver: () => performance.now() > until })
}

/** Whether rows of an older version are left. */
export async function isRewritePending(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from sync_rewrites where name = ${rewriteName}`.execute(db)
  return rows.length > 0
}

/** The number of rows of the next portion; null = there is none. */
async function rewritePortion(trx: Db, kind: DatabaseKind): Promise<number | null> {
  await acquireLock(trx, kind, 'deskmirror.rewrite')
  const { rows: states } = await sql<{ position: string }>`
    select position from sync_rewrites where name = ${rewriteName}`.execute(trx)
  const [state] = states
  if (state === undefined) return null
  const after = state.position === '' ? null : JSON.parse(state.position)
  const range = { table: 'messages', columns: key, where: sql`true`, after, limit: rowsPerPortion } as const
  if (kind === 'postgres') await lockProjects(trx, await readRowsAfterKey(trx, kind, range))
  const rows = await readRowsAfterKey(trx, kind, range)
  await shortenRows(trx, kind, rows)
  const last = rows.at(-1)
  await (rows.length < rowsPerPortion || last === undefined
    ? sql`delete from sync_rewrites where name = ${rewriteName}`
    : sql`update sync_rewrites set position = ${JSON.stringify(last.key)} where name = ${rewriteName}`
  ).execute(trx)
  return rows.length
}

/** Nobody else writes rows of these projects until the end of the transaction. */
async function lockProjects(trx: Db, rows: readonly StoredRow[]): Promise<void> {
  for (const project of new Set(rows.map((row) => row.key[0] ?? ''))) await acquireWriteLock(trx, 'postgres', project)
}

/** One statement for the rows of a conversation that keep the same, as most keep nothing: each is a round trip in Postgres. */
async function shortenRows(trx: Db, kind: DatabaseKind, rows: readonly StoredRow[]): Promise<void> {
  const shortened = rows.flatMap((row) => {
    const raw = shorten(kind, row)
    return raw === null ? [] : [{ key: row.key, raw }]
  })
  for (const alike of Map.groupBy(shortened, ({ key: [project, conversation], raw }) =>
    JSON.stringify([project, conversation, raw]),
  ).values()) {
    const [{ key: [project, conversation] = [], raw } = {}] = alike
    const ids = alike.map((row) => row.key[2] ?? '')
    await sql`update messages set raw = ${raw} where project_id = ${project} and conversation_id = ${conversation}
      and id ${inIntegers(kind, ids)}`.execute(trx)
  }
}

/** Null: it is short already. */
function shorten(kind: DatabaseKind, { raw, columnValues }: StoredRow): string | null {
  const message = asJsonObject(parseJson(decodeJson(kind, raw)))
  if (message === null || !Object.hasOwn(message, 'id')) return null
  return encodeJson(kind, fieldsNotInColumns(message, columnValues))
}

/** A condition as `inList` makes it, for integers. */
function inIntegers(kind: DatabaseKind, values: readonly string[]) {
  const list = listParameter(kind, values)
  return kind === 'sqlite'
    ? sql`in (select cast(value as integer) from ${list} as listed)`
    : sql`= any(array(select cast(value as bigint) from ${list} as listed))`
}
