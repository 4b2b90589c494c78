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
import { acquireLock } from '../database/dialect.ts'
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
  for (const row of rows) await shorten(trx, kind, row)
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

async function shorten(trx: Db, kind: DatabaseKind, { key: rowKey, raw, columnValues }: StoredRow): Promise<void> {
  const message = asJsonObject(parseJson(decodeJson(kind, raw)))
  if (message === null || !Object.hasOwn(message, 'id')) return
  const [project, conversation] = rowKey
  await sql`update messages set raw = ${encodeJson(kind, fieldsNotInColumns(message, columnValues))}
    where project_id = ${project} and conversation_id = ${conversation} and id = ${columnValues.id}`.execute(trx)
}
