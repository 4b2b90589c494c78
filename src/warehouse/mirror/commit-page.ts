/** Commits one page: its rows, its cursors and everything that follows from them, in one transaction. */
import { sql } from 'kysely'
import type { ChildReadResult, CommitResult, MirrorCommit } from '../../core/mirror.ts'
import { describeRejectedRow, type Gap, type RejectedRow } from '../../core/row.ts'
import { childStreamsOf, isChildStream, type StreamName } from '../../core/stream-specs.ts'
import { markFactsOfRows } from '../analytics/pending-facts.ts'
import type { Db } from '../database/connection-pool.ts'
import { typedParameter } from '../database/dialect.ts'
import { replaceMetrics } from './analytics-metrics.ts'
import { clearForRollup } from './analytics-rollups.ts'
import { findDisputedIds, readStoredConversations, recheckSet, recordChanges } from './conversation-changes.ts'
import { writeCursors } from './cursors.ts'
import type { SqlValue } from './encode-value.ts'
import { closeGap, indexableText, openGap } from './gaps.ts'
import { columnText, createInsertPlans, encodeRows, type InsertPlan } from './insert-plan.ts'
import { type IsolationResult, isolateBadRows, valueErrorReason } from './isolate-bad-rows.ts'
import { recordBehaviours } from './learned-behaviours.ts'
import { markChildrenPending, recordChildRead, unlistedSubject } from './pending-children.ts'
import { inTransaction, type ProjectContext } from './project-context.ts'
import { addSeenRows } from './seen-rows.ts'
import { keyColumns } from './stream-tables.ts'

/** Keeps compiled insert plans from page to page. */
export function createPageCommitter(context: ProjectContext): (commit: MirrorCommit) => Promise<CommitResult> {
  const planFor = createInsertPlans(context)
  const commitPage = async (commit: MirrorCommit): Promise<CommitResult> => {
    const fields = await context.fields.ensureColumns(commit.stream, commit.rows, commit.requestedAt)
    const plan = planFor(commit.stream, fields, commit.isAuthoritative ?? false)
    const escaped = context.escapeCount.escaped
    const { rows, rowsWithoutKey } = encodeRows(plan, commit.rows, commit.requestedAt)
    const upsertAllRows = async (trx: Db): Promise<IsolationResult> => ({
      changed: await upsertPage(context, trx, plan, rows, commit),
      rejectedRows: [],
    })
    const upsertValidRows = (trx: Db) =>
      isolateBadRows(trx, plan, rows, (batch) => upsertPage(context, trx, plan, batch, commit))
    const commitWith = (upsertRows: (trx: Db) => Promise<IsolationResult>) =>
      inTransaction(context, async (trx): Promise<CommitResult> => {
        const { changed, rejectedRows: unstorableRows } = await upsertRows(trx)
        const rejectedRows = [...(commit.rejectedRows ?? []), ...rowsWithoutKey, ...unstorableRows]
        await storeSyncState(context, trx, commit, rejectedRows, changed > 0)
        if (context.escapeCount.escaped > escaped)
          await addEscapedCount(context, trx, context.escapeCount.escaped - escaped)
        return rejectedRows.length === 0 ? { changed } : { changed, rejectedRows }
      })
    // Rows that the database rejects are rare, so they are isolated only after a commit of the whole page has failed.
    return commitWith(upsertAllRows).catch((error) =>
      valueErrorReason(error) === null ? Promise.reject(error) : commitWith(upsertValidRows),
    )
  }
  return (commit) => context.runSerially(() => commitPage(commit))
}

async function upsertPage(
  context: ProjectContext,
  trx: Db,
  plan: InsertPlan,
  rows: SqlValue[][],
  commit: MirrorCommit,
): Promise<number> {
  const { stream, requestedAt } = commit
  if (stream === 'analytics') await clearForRollups(context, trx, plan, rows)
  if (rows.length === 0) return 0
  const storedBefore = stream === 'conversations' ? await readStoredConversations(context, trx, plan, rows) : null
  const { changed, returned } = await context.upsert(trx, plan.shape, rows)
  const stored = new Set(returned)
  if (storedBefore !== null) {
    await recordChanges(context, trx, { plan, rows, before: storedBefore, stored, requestedAt })
    await addSeenRows(context, trx, recheckSet, findDisputedIds(plan, rows, storedBefore, stored))
  } else {
    for (const child of childStreamsOf(stream)) await markChildrenPending(context, trx, child, returned, requestedAt)
  }
  const checkedColumn = checkedAtColumn[stream]
  if (checkedColumn !== undefined) await updateCheckedAt(context, trx, plan, rows, checkedColumn, requestedAt)
  if (stream === 'analytics') await refreshMetrics(context, trx, plan, rows, stored)
  if (changed > 0)
    await markFactsOfRows(context, trx, stream, plan.shape.returning === null ? rowKeys(plan, rows) : returned)
  if (commit.seenRowsKey !== undefined) await addSeenRows(context, trx, commit.seenRowsKey, rowKeys(plan, rows))
  return changed
}

async function storeSyncState(
  context: ProjectContext,
  trx: Db,
  commit: MirrorCommit,
  rejectedRows: readonly RejectedRow[],
  hasChanges: boolean,
): Promise<void> {
  const { stream, child } = commit
  if (child !== undefined)
    await recordChildRead(context, trx, addRejectedRows(child, rejectedRows), commit.requestedAt, hasChanges)
  for (const gap of commit.gaps ?? []) await openGap(context, trx, gap)
  for (const subject of commit.resolvedGapSubjects ?? []) await closeGap(context, trx, stream, subject)
  if (child === undefined) for (const row of rejectedRows) await openGap(context, trx, ...gapForRow(commit, row))
  await recordBehaviours(context, trx, commit.observations ?? [])
  await writeCursors(context, trx, commit.cursors ?? {})
}

function addRejectedRows(child: ChildReadResult, rejectedRows: readonly RejectedRow[]): ChildReadResult {
  if (rejectedRows.length === 0) return child
  const reasons = [...(child.why === undefined ? [] : [child.why]), ...rejectedRows.map(describeRejectedRow)]
  return { ...child, complete: false, why: [...new Set(reasons)].join('; ') }
}

/** A rejected row of a child list is a gap of its parent, which closes when the list has been read completely. */
function gapForRow({ stream, rows }: MirrorCommit, row: RejectedRow): [gap: Gap, subject?: string] {
  const gap = { stream, from: null, to: null, reason: describeRejectedRow(row) }
  const parent = isChildStream(stream) ? rows[0]?.columns[keyColumns(stream)[0] ?? ''] : undefined
  if (typeof parent === 'string') return [gap, unlistedSubject(parent)]
  return row.id === null ? [gap] : [gap, `row:${indexableText(row.id)}`]
}

function rowKeys(plan: InsertPlan, rows: readonly SqlValue[][]): string[] {
  const [key = 0] = plan.keyIndexes
  return rows.map((row) => String(row[key]))
}

/** By stream: the column that says when the service was last asked. */
const checkedAtColumn: Partial<Record<StreamName, string>> = { call_recordings: 'checked_at', analytics: 'read_at' }

/** The time of the last check is updated even for unchanged rows, and does not count as a change. */
async function updateCheckedAt(
  context: ProjectContext,
  trx: Db,
  plan: InsertPlan,
  rows: readonly SqlValue[][],
  column: string,
  requestedAt: number,
) {
  const { table, columns } = plan.shape
  const at = columns.findIndex(({ name }) => name === column)
  for (const row of rows) {
    const key = sql.join(
      plan.keyIndexes.map((i) => sql`${sql.ref(columns[i]?.name ?? '')} = ${row[i]}`),
      sql` and `,
    )
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${row[at]}
      where project_id = ${context.project} and ${key} and asked_at <= ${requestedAt}
        and ${sql.ref(column)} is distinct from ${typedParameter(context.kind, 'time', row[at])}`.execute(trx)
  }
}

async function clearForRollups(
  context: ProjectContext,
  trx: Db,
  plan: InsertPlan,
  rows: readonly SqlValue[][],
): Promise<void> {
  for (const row of rows) {
    const text = (name: string) => columnText(plan, row, name) ?? ''
    const [window_from, window_to] = [text('window_from'), text('window_to')]
    await clearForRollup(context, trx, { window_from, window_to, time_zone: text('time_zone') })
  }
}

async function refreshMetrics(
  context: ProjectContext,
  trx: Db,
  plan: InsertPlan,
  rows: readonly SqlValue[][],
  stored: ReadonlySet<string>,
): Promise<void> {
  for (const row of rows) {
    if (stored.has(columnText(plan, row, 'window_from') ?? '')) await replaceMetrics(context, trx, plan, row)
  }
}

/** Adds to the run's count of strings that had to be escaped for the database. */
async function addEscapedCount(context: ProjectContext, trx: Db, count: number): Promise<void> {
  await trx
    .updateTable('sync_runs')
    .set((eb) => ({ strings_escaped: eb('strings_escaped', '+', count) }))
    .where((eb) => eb.and({ project_id: context.project, id: context.currentRunId() ?? '' }))
    .execute()
}
