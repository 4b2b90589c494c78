/**
 * Cleans stored rows of what the setting `columns` no longer lets be stored, in batches that also
 * store how far they are. What may be stored again is requested again.
 */
import { sql } from 'kysely'
import { isListStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { type Json, parseJson, stringifyJson } from '../../values/json.ts'
import { type ColumnRules, isHash, type Kept } from '../../values/private-columns.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import { afterBatch, noColumnState, planChange } from '../core/applied-columns.ts'
import type { RowKey } from '../core/mirror.ts'
import { parseStored } from '../core/parse-stored.ts'
import type { Stream } from '../core/stream-kinds.ts'
import { requestFullRereads } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { type KeyedTable, readRowsAfterKey } from './reader.ts'
import { type CleanedSource, replaceEntry, storeCleaned } from './store-cleaned.ts'
import { findStoredFields } from './stored-fields.ts'
import { streamTables } from './stream-tables.ts'
import type { ProjectContext } from './sync-runs.ts'
import {
  columnsCursor,
  compactionCursor,
  readColumnStates,
  readCursor,
  writeCursors,
} from './sync-state.ts'

/**
 * Returns the columns that have to be read again, which it has requested. `loadedAt`: when the
 * rules were. Throws UserError if those of another process are newer: both would change all rows
 * for ever.
 */
export async function beginColumns(
  context: ProjectDb,
  name: StreamName,
  rules: ColumnRules,
  now: EpochMs,
  loadedAt: EpochMs,
): Promise<readonly string[]> {
  const state = (await readColumnStates(context)).get(name) ?? noColumnState
  const change = planChange(state, rules.describe(name))
  if (change === null) return []
  const newestAt = Number(await readCursor(context, loadedCursor))
  // A time to come is of a clock that was wrong.
  if (newestAt > loadedAt && newestAt <= now) throw olderRules(name, newestAt)
  const toReread = await findStoredFields(context, name, change.toReread)
  const begun = change.begun(toReread.length > 0 ? now : null)
  // What is overwritten is so in the file, too.
  if (context.kind === 'sqlite') await sql`pragma secure_delete = on`.execute(context.db)
  return inTransaction(context, async (trx) => {
    if (toReread.length > 0) await rereadAll(trx, name, now)
    // They were made of rows with everything.
    await sql`update sync_audits set differences = null
      where project_id = ${trx.project}`.execute(trx.db)
    await sql`update sync_children set unlisted = null
      where project_id = ${trx.project} and stream = ${name}`.execute(trx.db)
    if (name === 'conversations') await deleteHistory(trx, rules)
    await writeCursors(trx, {
      [columnsCursor(name)]: JSON.stringify(begun),
      [loadedCursor]: String(loadedAt),
    })
    return toReread
  })
}

/** When the configuration of the process was loaded that changed the rules last. */
const loadedCursor = 'columns loaded'

function olderRules(stream: StreamName, at: EpochMs): UserError {
  return new UserError({
    what: `${stream} were not read`,
    why:
      'another process, whose configuration was loaded later ' +
      `(${toTimestamp(at)}), has other rules of \`columns\`: this one would undo what it did`,
    next:
      'give all processes of this warehouse the same `columns` and `hash_key`; then restart ' +
      'this one, or send it SIGHUP',
    exitCode: 2,
  })
}

/** Deletes the changes of fields that may no longer be stored as they are. */
async function deleteHistory({ db, project }: ProjectDb, rules: ColumnRules): Promise<void> {
  for (const { name } of streamTables.conversations.columns)
    if (rules.actionOf('conversations', name) !== null)
      await sql`delete from conversation_changes
        where project_id = ${project} and field = ${name}`.execute(db)
}

/** As if nothing of the stream had been read yet; its rows stay until they are read. */
async function rereadAll(trx: ProjectDb, stream: StreamName, now: EpochMs): Promise<void> {
  const { db, project } = trx
  const { kind, table } = streamSpecs[stream]
  if (isListStream(stream))
    await sql`delete from sync_cursors where project_id = ${project}
      and (stream = ${stream} or stream like ${`${stream}:%`})`.execute(db)
  else if (kind === 'daily')
    await sql`update ${sql.table(table)} set read_at = window_from
      where project_id = ${project}`.execute(db)
  else if (stream !== 'availability' && stream !== 'analytics')
    await requestFullRereads(trx, stream, 'all', now)
}

const batchRows = 500

/** Cleans the next rows. `isDone`: none are left, and all follow the rules. */
export async function cleanColumns(
  context: ProjectContext,
  stream: Stream,
  rules: ColumnRules,
): Promise<{ readonly rows: number; readonly changed: number; readonly isDone: boolean }> {
  const { db, kind, project } = context
  const { name } = stream
  const state = (await readColumnStates(context)).get(name) ?? noColumnState
  if (state.cleaning === null) return { rows: 0, changed: 0, isDone: true }
  const { after, to, inHistory = false, rereadSince } = state.cleaning
  const { history } = streamTables[name]
  const source = inHistory && history !== null ? versionsIn(history) : rowsOf(name)
  const readBatch = (from: ProjectDb['db']) =>
    readRowsAfterKey(from, kind, {
      ...source,
      where: sql`project_id = ${project} and raw is not null`,
      after,
      limit: batchRows,
    })
  // Nothing reads a version again, so what was hashed with another key is lost; also that of rows,
  // which become versions when they are read again.
  const isVersion = inHistory || context.history.some((list) => list === name)
  const isOtherKey = isVersion && state.applied.key !== to.key
  const parse = (key: RowKey, raw: string) => {
    const item = parseJson(decodeJson(kind, raw))
    const kept: Kept = rules.keepStored(name, isOtherKey ? withoutHashes(item) : item)
    return stringifyJson(kept) === stringifyJson(item) ? undefined : parseStored(stream, kept, key)
  }
  // A hash may need a wider column, which is made before the transaction.
  const seen = (await readBatch(db)).flatMap(({ key, raw }) => parse(key, raw) ?? [])
  const fields = await context.fields.ensureColumns(name, seen, context.clock())
  return inTransaction(context, async (trx) => {
    const batch = await readBatch(trx.db)
    let changed = 0
    const touched = new Set<string>()
    for (const { key, raw } of batch) {
      if (name === 'visitor_activity' && rereadSince !== null)
        await replaceEntry(trx, key, raw, rereadSince)
      const row = parse(key, raw)
      if (row === undefined) continue
      await storeCleaned(trx, name, source, fields, key, row)
      if (!inHistory) touched.add(key[0] ?? '')
      changed += 1
    }
    await markFactsOfRows(trx, name, [...touched])
    const last = batch.length < batchRows ? null : (batch.at(-1)?.key ?? null)
    const next = afterBatch(state, last, history !== null)
    const isDone = next.cleaning === null
    const isPlain = isDone && to.columns.length === 0
    await writeCursors(trx, {
      [columnsCursor(name)]: isPlain ? null : JSON.stringify(next),
      ...(changed > 0 && { [compactionCursor]: 'pending' }),
    })
    return { rows: batch.length, changed, isDone }
  })
}

function rowsOf(name: StreamName): CleanedSource {
  const { stored, key } = streamTables[name]
  return { table: streamSpecs[name].table, stored, columns: key, hasDiscovered: true }
}

const versionsIn = (table: KeyedTable): CleanedSource => {
  return { table, stored: table, columns: ['id', 'valid_from'], hasDiscovered: false }
}

function withoutHashes(item: Json): Json {
  if (isHash(item)) return null
  if (typeof item !== 'object' || item === null) return item
  if (Array.isArray(item)) return item.map(withoutHashes)
  const entries = Object.entries(item).map(([name, value]: [string, Json]) => [
    name,
    withoutHashes(value),
  ])
  return Object.fromEntries(entries)
}
