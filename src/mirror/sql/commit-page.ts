/**
 * Commits pages, each with its rows, cursors and all that follows from them. Pages that are
 * submitted while a transaction runs share the next one: the log gets every page of a table or
 * index that a transaction touches, so ten small ones write several times as much as a large one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describeRejectedRow, type Gap, type RejectedRow } from '../../../schema/row.ts'
import { isChildStream, type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { clockToleranceSeconds, type Ms } from '../../values/time.ts'
import { isWarehouseUnavailable } from '../../warehouse/explain-error.ts'
import { inTransaction } from '../../warehouse/transactions.ts'
import {
  type CommitResult,
  type MirrorCommit,
  type UnlistedOutcome,
  untimedGap,
} from '../core/mirror.ts'
import { clearForRollup, replaceMetrics } from './analytics-rollups.ts'
import { marksFactsOfParent, settleChildRead } from './child-reads.ts'
import { recordChanges } from './conversation-changes.ts'
import type { StreamFields } from './discovered-columns/field-records.ts'
import { type EncodedRow, encodePage, keyOf, textsOf } from './encode-rows.ts'
import { closeGaps, openGap, rowGapKey, unlistedGapKey } from './gaps.ts'
import { addPendingChildren } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { compareWithStored, recordVersions } from './row-history.ts'
import { addToIdSet } from './seen-rows.ts'
import { type InsertedColumn, streamTables } from './stream-tables.ts'
import { addEscapedCount, type ProjectContext } from './sync-runs.ts'
import { readLaxColumns, recordBehaviours, writeCursors } from './sync-state.ts'
import { upsertRows } from './upsert-rows.ts'

type WaitingPage = {
  readonly page: MirrorCommit
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/** How long a page waits for those of other readers. */
const maxWaitMs: Ms = 5
/** In one transaction. It holds up other writers. */
const maxPages = 16

/**
 * `runSerially` starts each write when the one before has ended. A page that cannot be stored does
 * not fail the others. `onStored`: the number of rows that were new or changed.
 */
export function createPageCommitter(
  context: ProjectContext,
  runSerially: (write: () => Promise<void>) => Promise<void>,
  onStored: (rows: number) => Promise<void>,
): (page: MirrorCommit) => Promise<CommitResult> {
  const waiting: WaitingPage[] = []
  const commitWaiting = async () => {
    if (waiting.length < maxPages) await sleep(maxWaitMs)
    const group = waiting.splice(0, maxPages)
    if (waiting.length > 0) void runSerially(commitWaiting)
    await commitGroup(context, group, onStored)
  }
  return (page) => {
    const { promise, resolve, reject } = Promise.withResolvers<CommitResult>()
    waiting.push({ page, resolve, reject })
    if (waiting.length === 1) void runSerially(commitWaiting)
    return promise
  }
}

/** Rows that the database rejects are isolated only where a page has failed alone. */
async function commitGroup(
  context: ProjectContext,
  group: readonly WaitingPage[],
  onStored: (rows: number) => Promise<void>,
  store = storeRows,
): Promise<void> {
  try {
    const pages = group.map(({ page }) => page)
    const results = await commitPages(context, pages, store)
    await onStored(results.reduce((sum, { changed }) => sum + changed, 0))
    for (const [i, result] of results.entries()) group[i]?.resolve(result)
  } catch (error) {
    const isOfPage =
      !isWarehouseUnavailable(error) && (group.length > 1 || valueErrorReason(error) !== null)
    if (!isOfPage || store === isolateBadRows) for (const { reject } of group) reject(error)
    else
      for (const one of group)
        await commitGroup(context, [one], onStored, group.length > 1 ? storeRows : isolateBadRows)
  }
}

async function commitPages(
  context: ProjectContext,
  pages: readonly MirrorCommit[],
  store: StoreRows,
) {
  const fields = new Map<StreamName, StreamFields>()
  // A later page may widen a column of an earlier one, so rows are encoded after all pages have
  // their columns.
  for (const { stream, rows, requestedAt } of pages)
    fields.set(stream, await context.fields.ensureColumns(stream, rows, requestedAt))
  return inTransaction(context, async (trx) => {
    let escaped = 0
    // A run has compared its rules under the locks of its streams.
    const lax = context.run.id === null ? await readLaxColumns(trx, context.columns) : []
    const commit = async (page: MirrorCommit): Promise<CommitResult> => {
      if (lax.some(({ stream }) => stream === page.stream)) return { changed: 0 }
      const encoded = encodePage(trx, page, fields.get(page.stream) as StreamFields)
      const { changed, rejectedRows: unstorable } = await store(trx, page, encoded)
      const rejectedRows = [...(page.rejectedRows ?? []), ...encoded.rejectedRows, ...unstorable]
      const unlisted = await storeSyncState(trx, page, rejectedRows, changed)
      escaped += encoded.escaped
      return {
        changed: changed + (unlisted?.marked ?? 0),
        ...(rejectedRows.length === 0 ? {} : { rejectedRows }),
        ...(unlisted === null ? {} : { unlisted }),
      }
    }
    const results = await sideBySide(pages, commit)
    if (escaped > 0) await addEscapedCount(trx, escaped)
    return results
  })
}

/**
 * Child lists of different parents share no rows. Ends when all have ended, also after a failure,
 * as the transaction ends then.
 */
async function sideBySide(
  pages: readonly MirrorCommit[],
  commit: (page: MirrorCommit) => Promise<CommitResult>,
): Promise<CommitResult[]> {
  const last = new Map<string, Promise<unknown>>()
  let failure: { readonly error: unknown } | null = null
  const committed = pages.map((page) => {
    const { stream, childRead } = page
    const key = `${stream} ${childRead?.parentId ?? ''}`
    const result = (last.get(key) ?? Promise.resolve()).then(() => commit(page))
    last.set(key, result)
    result.catch((error) => {
      failure ??= { error }
    })
    return result
  })
  const settled = await Promise.allSettled(committed)
  if (failure !== null) throw (failure as { readonly error: unknown }).error
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

/** Returns how many rows were new or changed, and those that the database cannot hold. */
type StoreRows = (
  trx: ProjectContext,
  page: MirrorCommit,
  encoded: { readonly columns: readonly InsertedColumn[]; readonly rows: readonly EncodedRow[] },
) => Promise<{ readonly changed: number; readonly rejectedRows: readonly RejectedRow[] }>

const storeRows: StoreRows = async (trx, page, encoded) => {
  const { stream, requestedAt, childRead, seenRowsKey } = page
  if (encoded.rows.length === 0) return { changed: 0, rejectedRows: [] }
  const { children, firstKey, list } = streamTables[stream]
  const { rows, before, steps } = await compareWithStored(trx, page, encoded.rows)
  if (stream === 'analytics') for (const row of rows) await clearForRollup(trx, row)
  const stored = await upsertRows(trx, page, encoded.columns, rows)
  if (stream === 'conversations')
    await recordChanges(trx, rows, before, new Set(stored), requestedAt)
  if (list !== null) await recordVersions(trx, list, steps, before, stored, requestedAt)
  // A conversation changes more often than what is said in it.
  for (const child of children)
    if (child !== 'messages') await addPendingChildren(trx, child, stored, requestedAt)
  const { kind } = streamSpecs[stream]
  if (kind === 'child-object' || kind === 'daily') await updateReadAt(trx, page, rows)
  if (stream === 'analytics')
    for (const row of rows)
      if (stored.includes(String(row[firstKey]))) await replaceMetrics(trx, row)
  if (childRead === undefined || !marksFactsOfParent(childRead))
    await markFactsOfRows(trx, stream, stored)
  if (seenRowsKey !== undefined) await addToIdSet(trx, seenRowsKey, textsOf(rows, firstKey))
  return { changed: stored.length, rejectedRows: [] }
}

/** Stores the rows one by one, except those that the database rejects. */
const isolateBadRows: StoreRows = async (trx, page, encoded) => {
  let changed = 0
  const rejectedRows: RejectedRow[] = []
  for (const row of encoded.rows) {
    await sql`savepoint isolating`.execute(trx.db)
    try {
      const stored = await storeRows(trx, page, { ...encoded, rows: [row] })
      await sql`release savepoint isolating`.execute(trx.db)
      changed += stored.changed
    } catch (error) {
      const why = valueErrorReason(error)
      if (why === null) throw error
      await sql`rollback to savepoint isolating`.execute(trx.db)
      await sql`release savepoint isolating`.execute(trx.db)
      rejectedRows.push({ id: rowId(page.stream, row), why })
    }
  }
  return { changed, rejectedRows }
}

/** The last part of its key, but the hash for an activity entry. */
function rowId(stream: StreamName, row: EncodedRow): string | null {
  const id = keyOf(stream, row).at(stream === 'visitor_activity' ? 1 : -1) ?? null
  return id === null ? null : String(id)
}

/**
 * Codes that reject a value. Postgres's classes: 22 data exception, 23 integrity constraint, 54
 * program limit exceeded; XX000: an allocation that is too large. Source: "PostgreSQL Error Codes".
 */
const valueErrorCodes =
  /^(?:22...|23...|54...|XX000|SQLITE_(?:TOOBIG|MISMATCH|CONSTRAINT\w{0,30}))$/

/** For people, without the value; null: another kind of error. */
function valueErrorReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // A string or buffer longer than the runtime allows.
  if (error instanceof RangeError) return 'it is too large'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return valueErrorCodes.test(code) ? `the database cannot hold it (${code})` : null
}

async function storeSyncState(
  trx: ProjectContext,
  page: MirrorCommit,
  rejectedRows: readonly RejectedRow[],
  changed: number,
): Promise<UnlistedOutcome | null> {
  const { stream, childRead } = page
  const unlisted = await settleChildRead(trx, page, rejectedRows, changed)
  for (const gap of page.gaps ?? []) await openGap(trx, gap)
  if (page.resolvedGapKeys !== undefined) await closeGaps(trx, stream, page.resolvedGapKeys)
  if (childRead === undefined)
    for (const row of rejectedRows) await openGap(trx, gapForRow(page, row))
  if (page.observations?.length) await recordBehaviours(trx, page.observations)
  if (page.cursors !== undefined) await writeCursors(trx, page.cursors)
  return unlisted
}

/** A row of a child list is a gap of its parent until the list has been read without it. */
function gapForRow({ stream, rows }: MirrorCommit, row: RejectedRow): Gap {
  const parent = isChildStream(stream) ? rows[0]?.columns[streamTables[stream].firstKey] : undefined
  const ofRow = row.id === null ? undefined : rowGapKey(row.id)
  const key = typeof parent === 'string' ? unlistedGapKey(parent) : ofRow
  return untimedGap(stream, describeRejectedRow(row), key)
}

/** When a row was last read is updated even if it is unchanged, and does not count as a change. */
async function updateReadAt(trx: ProjectContext, page: MirrorCommit, rows: readonly EncodedRow[]) {
  const { stream, requestedAt } = page
  const { stored, key } = streamTables[stream]
  const latest = trx.clock() + clockToleranceSeconds * 1000
  for (const row of rows) {
    const at = row.read_at ?? null
    const isRow = key.map((name) => sql`${sql.ref(name)} = ${row[name]}`)
    await sql`
      update ${sql.table(stored)} set read_at = ${at}
      where project_id = ${trx.project} and ${sql.join(isRow, sql` and `)}
        and (asked_at <= ${requestedAt} or asked_at > ${latest})
        and read_at is distinct from ${trx.typed('time', at)}`.execute(trx.db)
  }
}
