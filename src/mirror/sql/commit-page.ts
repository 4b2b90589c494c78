/** Commits one page: its rows, its cursors and everything that follows from them, in one transaction. */
import { sql } from 'kysely'
import { describeRejectedRow, type Gap, type RejectedRow } from '../../../schema/row.ts'
import { childStreamsOf, isChildStream, type StreamName } from '../../../schema/stream-specs.ts'
import { clockToleranceSeconds } from '../../values/cursor-limit.ts'
import { escapeDots, unescapePaths } from '../../values/field-path.ts'
import { type Json, parseJson } from '../../values/json.ts'
import type { EpochMs } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { batchesOf } from '../../warehouse/dialect.ts'
import { encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { ChildReadResult, CommitResult, MirrorCommit } from '../core/mirror.ts'
import { clearForRollup, rollupWindow } from './analytics-rollups.ts'
import { createCommitQueue } from './commit-queue.ts'
import { createGroupCommitter } from './commit-together.ts'
import { findIdsToRecheck, readStoredConversations, recheckSet, recordChanges } from './conversation-changes.ts'
import { writeCursors } from './cursors.ts'
import type { EncodedRow } from './encode-value.ts'
import { closeGaps, indexableText, openGap } from './gaps.ts'
import { columnText, createInsertPlans, encodeRows, type InsertPlan } from './insert-plan.ts'
import { recordBehaviours } from './learned-behaviours.ts'
import { addPendingChildren, marksFactsOfParent, recordChildReads, unlistedGapKey } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'
import { addToIdSet } from './seen-rows.ts'
import { withStoredIds } from './stored-ids.ts'
import { keyColumns } from './stream-tables.ts'
import { addEscapedCount } from './sync-runs.ts'

/** Keeps compiled insert plans from page to page. */
export function createPageCommitter(context: ProjectContext): (commit: MirrorCommit) => Promise<CommitResult> {
  const planFor = createInsertPlans(context)
  const { escapeCount } = context
  const commitPage = async (commit: MirrorCommit): Promise<CommitResult> => {
    const { stream, requestedAt } = commit
    const fields = await context.fields.ensureColumns(stream, commit.rows, requestedAt)
    const plan = planFor(stream, fields, commit.isAuthoritative ?? false)
    const escapedBefore = escapeCount.escaped
    const { rows, rowsWithoutKey } = encodeRows(plan, commit.rows, requestedAt)
    const store = (trx: ProjectContext, some: readonly EncodedRow[]) =>
      storeRows({ trx, plan, rows: some, stream, requestedAt }, commit)
    const commitWith = (storeAll: (trx: ProjectContext) => Promise<IsolationResult>) =>
      inTransaction(context, async (trx): Promise<CommitResult> => {
        const { changed, rejectedRows: unstorableRows } = await storeAll(trx)
        const rejectedRows = [...(commit.rejectedRows ?? []), ...rowsWithoutKey, ...unstorableRows]
        await storeSyncState(trx, commit, rejectedRows, changed > 0)
        await addEscapedCount(trx, escapeCount.escaped - escapedBefore)
        return rejectedRows.length === 0 ? { changed } : { changed, rejectedRows }
      })
    // Rows that the database rejects are rare, so they are isolated only after a commit of the whole page has failed.
    return commitWith(async (trx) => ({ changed: await store(trx, rows), rejectedRows: [] })).catch((error) => {
      if (valueErrorReason(error) === null) throw error
      return commitWith((trx) => isolateBadRows(trx.db, plan, rows, (some) => store(trx, some)))
    })
  }
  const together = createGroupCommitter(context, planFor)
  return createCommitQueue({ alone: commitPage, together, runSerially: context.runSerially })
}

/** Rows of a page that are stored in one transaction. */
type Page = {
  readonly trx: ProjectContext
  readonly plan: InsertPlan
  readonly rows: readonly EncodedRow[]
  readonly stream: StreamName
  readonly requestedAt: EpochMs
}

/** `stored`: the ids of new and changed rows; for a stream without dependents, none. */
type AfterStore = (stored: readonly string[]) => Promise<void>

async function storeRows(encoded: Page, { childRead, seenRowsKey }: MirrorCommit): Promise<number> {
  const { trx, plan, stream } = encoded
  if (encoded.rows.length === 0) return 0
  const rows = await withStoredIds(trx, stream, plan, encoded.rows)
  const page = { ...encoded, rows }
  const afterStore = await (storeHooks[stream] ?? markAllChildrenPending)(page)
  const { changed, returned } = await trx.upsert(trx.db, plan.shape, rows)
  await afterStore(returned)
  const isMarkedByRead = childRead !== undefined && marksFactsOfParent(childRead)
  if (changed > 0 && !isMarkedByRead)
    await markFactsOfRows(trx, stream, plan.shape.returning === null ? rowKeys(plan, rows) : returned)
  if (seenRowsKey !== undefined) await addToIdSet(trx, seenRowsKey, rowKeys(plan, rows))
  return changed
}

/** Hooks by stream: each runs before the rows are stored, and returns what runs after them. */
const storeHooks: { readonly [N in StreamName]?: (page: Page) => Promise<AfterStore> } = {
  conversations: async ({ trx, plan, rows, requestedAt }) => {
    const before = await readStoredConversations(trx, plan, rows)
    return async (returned) => {
      const conversations = { plan, rows, before, stored: new Set(returned), requestedAt }
      await recordChanges(trx, conversations)
      await addToIdSet(trx, recheckSet, findIdsToRecheck(conversations))
    }
  },
  call_recordings: async (page) => () => updateCheckedAt(page, 'checked_at'),
  analytics: async (page) => {
    const { trx, plan, rows } = page
    const windows = rows.map((row) => ({ row, ...rollupWindow(plan, row) }))
    for (const window of windows) await clearForRollup(trx, window)
    return async (stored) => {
      await updateCheckedAt(page, 'read_at')
      for (const { row, window_from } of windows) {
        if (stored.includes(window_from)) await replaceMetrics(trx, plan, row)
      }
    }
  },
}

async function markAllChildrenPending({ trx, stream, requestedAt }: Page): Promise<AfterStore> {
  return async (stored) => {
    for (const child of childStreamsOf(stream)) await addPendingChildren(trx, child, stored, requestedAt)
  }
}

async function storeSyncState(
  trx: ProjectContext,
  commit: MirrorCommit,
  rejectedRows: readonly RejectedRow[],
  hasChanges: boolean,
) {
  const { stream, childRead, requestedAt: now } = commit
  if (childRead !== undefined)
    await recordChildReads(trx, childRead.stream, [{ read: addRejectedRows(childRead, rejectedRows), now, hasChanges }])
  for (const gap of commit.gaps ?? []) await openGap(trx, gap)
  await closeGaps(trx, stream, commit.resolvedGapKeys ?? [])
  if (childRead === undefined) for (const row of rejectedRows) await openGap(trx, ...gapForRow(commit, row))
  await recordBehaviours(trx, commit.observations ?? [])
  await writeCursors(trx, commit.cursors ?? {})
}

function addRejectedRows(childRead: ChildReadResult, rejectedRows: readonly RejectedRow[]): ChildReadResult {
  if (rejectedRows.length === 0) return childRead
  const reasons = [...(childRead.why === undefined ? [] : [childRead.why]), ...rejectedRows.map(describeRejectedRow)]
  return { ...childRead, completeness: 'incomplete', why: [...new Set(reasons)].join('; ') }
}

/** A rejected row of a child list is a gap of its parent, which closes when the list has been read completely. */
function gapForRow({ stream, rows }: MirrorCommit, row: RejectedRow): [gap: Gap, dedupKey?: string] {
  const gap = { stream, from: null, to: null, reason: describeRejectedRow(row) }
  const parent = isChildStream(stream) ? rows[0]?.columns[keyColumns(stream)[0] ?? ''] : undefined
  if (typeof parent === 'string') return [gap, unlistedGapKey(parent)]
  return row.id === null ? [gap] : [gap, `row:${indexableText(row.id)}`]
}

function rowKeys(plan: InsertPlan, rows: readonly EncodedRow[]): string[] {
  const [key = 0] = plan.keyIndexes
  return rows.map((row) => String(row[key]))
}

/** The time of the last check is updated even for unchanged rows, and does not count as a change. */
async function updateCheckedAt({ trx, plan, rows, requestedAt }: Page, column: 'checked_at' | 'read_at') {
  const { table, columns } = plan.shape
  const at = columns.findIndex(({ name }) => name === column)
  for (const row of rows) {
    const parts = plan.keyIndexes.map((i) => sql`${sql.ref(columns[i]?.name ?? '')} = ${row[i]}`)
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${row[at]}
      where project_id = ${trx.project} and ${sql.join(parts, sql` and `)} and (asked_at <= ${requestedAt} or asked_at > ${trx.clock() + clockToleranceSeconds * 1000})
        and ${sql.ref(column)} is distinct from ${trx.typed('time', row[at])}`.execute(trx.db)
  }
}

/** Finds the rows that the database cannot store, so that all others are stored. */
type IsolationResult = { readonly changed: number; readonly rejectedRows: readonly RejectedRow[] }

/** Stores all rows except those that the database rejects: halves a rejected batch until single rows are left. */
async function isolateBadRows(
  trx: Db,
  plan: InsertPlan,
  rows: readonly EncodedRow[],
  upsertRows: (rows: readonly EncodedRow[]) => Promise<number>,
): Promise<IsolationResult> {
  if (rows.length === 0) return { changed: 0, rejectedRows: [] }
  await sql`savepoint isolating`.execute(trx)
  try {
    const changed = await upsertRows(rows)
    await sql`release savepoint isolating`.execute(trx)
    return { changed, rejectedRows: [] }
  } catch (error) {
    const why = valueErrorReason(error)
    if (why === null) throw error
    await sql`rollback to savepoint isolating`.execute(trx)
    await sql`release savepoint isolating`.execute(trx)
    if (rows.length === 1) return { changed: 0, rejectedRows: [{ id: rowId(plan, rows[0] ?? []), why }] }
  }
  const half = rows.length >> 1
  const [first, last] = [
    await isolateBadRows(trx, plan, rows.slice(0, half), upsertRows),
    await isolateBadRows(trx, plan, rows.slice(half), upsertRows),
  ]
  return { changed: first.changed + last.changed, rejectedRows: [...first.rejectedRows, ...last.rejectedRows] }
}

/** The id of a row within its parent: the last part of its key, but the hash for an activity entry. */
function rowId(plan: InsertPlan, row: EncodedRow): string | null {
  const value = row[plan.shape.table === 'visitor_activity' ? (plan.keyIndexes[1] ?? 0) : (plan.keyIndexes.at(-1) ?? 0)]
  return value === null || value === undefined ? null : String(value)
}

/**
 * Codes that reject a value, as opposed to a statement, a lock, a disk or a connection. Postgres's classes: 22 data
 * exception, 23 integrity constraint, 54 program limit exceeded; XX000 is its code for an allocation that is too large.
 * Source: its documentation, "PostgreSQL Error Codes". SQLite: its result codes.
 */
const valueErrorCodes = /^(?:22...|23...|54...|XX000|SQLITE_(?:TOOBIG|MISMATCH|CONSTRAINT\w{0,30}))$/

/** Why the database rejected a value, for people and without the value; null: another kind of error. */
function valueErrorReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // A string or buffer longer than the runtime allows.
  if (error instanceof RangeError) return 'it is too large'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return valueErrorCodes.test(code) ? `the database cannot hold it (${code})` : null
}

/** Characters. The path is part of a key, and indexes have limits; numbers with longer paths stay in `raw`. */
const maxPathLength = 300

/** Numbers by dotted path; array elements by their index, from 0. An integer that a column of numbers cannot hold is left out. */
function collectNumbers(json: Json, path: string, into: Map<string, number>): void {
  if (typeof json === 'number' || (typeof json === 'bigint' && BigInt(Number(json)) === json)) {
    if (path !== '') into.set(path, Number(json))
  } else if (typeof json === 'object' && json !== null) {
    for (const [name, value] of Object.entries(json)) {
      const innerPath = path === '' ? escapeDots(name) : `${path}.${escapeDots(name)}`
      if (innerPath.length <= maxPathLength) collectNumbers(value, innerPath, into)
    }
  }
}

/** Replaces the numbers of a window whose rollup changed. */
async function replaceMetrics({ db, kind, project }: ProjectDb, plan: InsertPlan, row: EncodedRow) {
  const text = (name: string) => columnText(plan, row, name) ?? ''
  const window = { project_id: project, window_from: text('window_from'), window_to: text('window_to') }
  const isWindow = sql`window_from = ${window.window_from} and window_to = ${window.window_to}`
  await sql`delete from analytics_metrics where project_id = ${project} and ${isWindow}`.execute(db)
  const numbers = new Map<string, number>()
  collectNumbers(parseJson(text('raw')), '', numbers)
  unescapePaths(numbers)
  const metrics = new Map([...numbers].map(([name, value]) => [encodeText(kind, name), value]))
  const columns = { ...window, day: text('day'), time_zone: text('time_zone') }
  const values = [...metrics].map(([metric, value]) => ({ ...columns, metric, value }))
  for (const batch of batchesOf(values, 200)) await db.insertInto('analytics_metrics').values(batch).execute()
}
