/** Applies people's decisions to write-backs in SQL: durable, logged per row, a few thousand rows per transaction. */
import { type RawBuilder, sql } from 'kysely'
import { inList } from '../../warehouse/dialect.ts'
import { inDurableTransaction } from '../../warehouse/durable-transaction.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type {
  BatchDecisionOptions,
  DecisionResult,
  DecisionTerms,
  OutboxFilter,
  SelectionMoved,
  ShownSelection,
} from '../core/admin.ts'
import type { BatchDecision, OutboxDecision } from '../core/decisions.ts'
import { appendEvent } from './audit-log.ts'
import {
  acquireCancellationLock,
  type BatchDecisionResult,
  findWindowEnd,
  followDecisions,
  recordBatchDecision,
  recordCancellation,
} from './batch-decisions.ts'
import { applyToRows, type DecidedRow } from './decide-rows.ts'
import { lockSelection } from './entries.ts'
import { toTimeValue } from './row.ts'

/** A person waits for the command, and the decision is in force already; the remaining rows are updated later. */
const applyForMs = 5500

/**
 * Returns the rows whose status changed. Rows that do not allow the transition stay as they are. A cancellation by batch or
 * of everything takes effect when it is recorded; rows may be updated later. A row in flight is marked so that it is not
 * sent again, and does not count as changed. `retried` takes the current mirror as what the person saw: it resets the
 * precondition and drops an expiry that has passed.
 */
export async function decide(
  context: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  terms: DecisionTerms,
): Promise<DecisionResult> {
  if (decision === 'cancelled' && isWholeBatchOrAll(filter)) return cancelAll(context, filter, terms)
  // Rows that still have to follow an earlier decision have an outdated status.
  await followDecisions(context, Number.POSITIVE_INFINITY)
  // An undo must not race with the end of the grace.
  const isAtOnce = filter.ids !== undefined || decision === 'approval_undone' || terms.audit !== undefined
  if (!isAtOnce) return decideInWindows(context, decision, filter, terms)
  return inDurableTransaction(context, async (trx) => {
    await acquireCancellationLock(trx, decision === 'approval_undone' ? 'exclusive' : 'shared')
    return decideAtOnce(trx, decision, filter, terms)
  })
}

/** Decides about the rows of the filter if the digest still names the rows that were shown, else about none. */
export async function decideShown(
  context: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  shown: ShownSelection,
  terms: DecisionTerms,
): Promise<DecisionResult | SelectionMoved> {
  await followDecisions(context, Number.POSITIVE_INFINITY)
  return inDurableTransaction(context, async (trx) => {
    await acquireCancellationLock(trx, 'shared')
    const { ids, ...now } = await lockSelection(trx, shown.filter)
    if (!isNamedBy(now.digest, shown.digest)) return { moved: now }
    // A row that was inserted since is not among those that were shown.
    const among = sql`project_id = ${trx.project} and id ${inList(trx.kind, ids)}`
    return decideAtOnce(trx, decision, filter, terms, among)
  })
}

function isWholeBatchOrAll({ ids, statuses, operations, target, approvedBy, isResumable }: OutboxFilter): boolean {
  return [ids, statuses, operations, target, approvedBy, isResumable].every((restriction) => restriction === undefined)
}

async function decideAtOnce(
  trx: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  terms: DecisionTerms,
  among = sql`project_id = ${trx.project}`,
): Promise<DecisionResult> {
  const moved = await applyToRows(trx, { decision, filter, terms, among })
  await updateBatches(trx, decision, moved, terms.by)
  if (terms.audit !== undefined) await appendEvent(trx.db, terms.audit(moved.length), trx.clock())
  return { count: moved.length, ids: moved.slice(0, 1000).map(({ id }) => id) }
}

/** A person may type the beginning of a digest. */
const shortestDigest = 12

function isNamedBy(digest: string, given: string): boolean {
  return given.length >= shortestDigest && digest.startsWith(given.toLowerCase())
}

async function decideInWindows(
  context: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  terms: DecisionTerms,
): Promise<DecisionResult> {
  const { batch = null } = filter
  let [count, first, after] = [0, [] as readonly string[], 0]
  const upTo = Number.MAX_SAFE_INTEGER
  for (let end = 0; ; after = end) {
    const found = await findWindowEnd(context, { batch, after, upTo })
    if (found === null) return { count, ids: first }
    end = found
    const among = sql`seq > ${after} and seq <= ${end} and project_id || '' = ${context.project}`
    const moved = await inDurableTransaction(context, async (trx) => {
      await acquireCancellationLock(trx, 'shared')
      const rows = await applyToRows(trx, { decision, filter, terms, among })
      await updateBatches(trx, decision, rows, terms.by)
      return rows
    })
    count += moved.length
    if (first.length < 1000) first = [...first, ...moved.map(({ id }) => id)].slice(0, 1000)
  }
}

/** The batches say who approved rows of them last, and whether they are finished. */
async function updateBatches(trx: ProjectDb, decision: OutboxDecision, moved: readonly DecidedRow[], by: string) {
  const { db, kind, project } = trx
  const changes = batchChanges(trx, decision, by)
  const batches = [...new Set(moved.flatMap(({ batchId }) => batchId ?? []))]
  if (changes === null || batches.length === 0) return
  await sql`update writeback_batches set ${changes} where project_id = ${project} and id ${inList(kind, batches)}`.execute(
    db,
  )
}

function batchChanges(trx: ProjectDb, decision: OutboxDecision, by: string): RawBuilder<unknown> | null {
  switch (decision) {
    case 'approved':
      return sql`approved_at = ${toTimeValue(trx)}, approved_by = ${by}`
    case 'approval_undone': {
      const isApproved = sql`exists (select 1 from writebacks where writebacks.project_id = writeback_batches.project_id
        and writebacks.batch_id = writeback_batches.id and writebacks.approved_by is not null)`
      return sql`approved_at = case when ${isApproved} then approved_at end,
        approved_by = case when ${isApproved} then approved_by end`
    }
    case 'retried':
      return sql`finished_at = null`
    default:
      return null
  }
}

async function cancelAll(context: ProjectDb, filter: OutboxFilter, terms: DecisionTerms): Promise<DecisionResult> {
  const { batch = null, orWithoutProject = false } = filter
  const isInFlight = sql`project_id = ${context.project} and status in ('sending','uncertain')`
  const result = await recordCancellation(context, { batch, orWithoutProject, ...terms }, async (trx) => {
    await applyToRows(trx, { decision: 'cancelled', filter, terms, among: isInFlight })
  })
  const isApplied = await followDecisions(context, performance.now() + applyForMs)
  return isApplied ? result : { ...result, following: true }
}

/** In force when it returns, at any size; rows follow. Null if it is so already or there is no such batch. */
export async function decideBatch(
  context: ProjectDb,
  decision: BatchDecision,
  batch: string,
  by: string,
  options: BatchDecisionOptions = {},
): Promise<(BatchDecisionResult & { readonly following?: true }) | SelectionMoved | null> {
  if (options.shown !== undefined) await followDecisions(context, Number.POSITIVE_INFINITY)
  const result = await recordBatchDecision(context, decision, batch, by, options)
  if (result === null || !('inFlight' in result)) return result
  const isApplied = await followDecisions(context, performance.now() + applyForMs)
  return isApplied ? result : { ...result, following: true }
}

/** Used when writing is switched off: what is in flight is verified, but never sent again. What is queued stays so. `by`: a setting. */
export async function revokeSending(context: ProjectDb, by: string): Promise<void> {
  const among = sql`project_id = ${context.project} and status = 'sending' and revoked_as is null`
  const revocation = { decision: 'cancelled', filter: {}, terms: { by }, among, isBySetting: true } as const
  await inDurableTransaction(context, (trx) => applyToRows(trx, revocation))
}
