/**
 * People's decisions about write-backs: durable, logged per row, in windows of some thousand rows.
 */
import { type RawBuilder, sql } from 'kysely'
import { appendEvent } from '../../warehouse/audit-log.ts'
import { allOf, inList } from '../../warehouse/dialect.ts'
import { decodeText } from '../../warehouse/escape.ts'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import {
  type DecisionTerms,
  isQueuedBy,
  type OutboxFilter,
  type SelectionDigest,
} from '../core/decision-terms.ts'
import { decisionOf, type OutboxDecision } from '../core/decisions.ts'
import {
  nextState,
  toStoredState,
  type WritebackState,
  type WritebackStatus,
  writebackStates,
} from '../core/state.ts'
import {
  acquireCancellationLock,
  findWindowEnd,
  followDecisions,
  followFor,
  idsReturned,
  recordCancellation,
} from './batch-decisions.ts'
import { filterSql, lockSelection } from './entries.ts'
import {
  decidedSql,
  earlierSendSql,
  inStoppedBatchSql,
  mayHaveArrivedSql,
  selectTargetSnapshot,
} from './row.ts'

/** A person may type the beginning of a digest. */
const shortestDigest = 12

/** `ids`: the first thousand. `following`: in force, but not all rows have been updated yet. */
type Decided = {
  readonly count: number
  readonly ids: readonly string[]
  readonly following?: true
}

/**
 * Returns the rows whose status changed; others stay as they are. A cancellation by batch or of
 * everything is in force when it is recorded; rows may follow later. A row in flight is marked so
 * that it is not sent again, and does not count. `retried` takes the current mirror as what the
 * person saw: it resets the precondition and drops an expiry that has passed. `moved`: the digest
 * names other rows than were shown, and nothing changed.
 */
export async function decide(
  context: ProjectDb,
  decision: OutboxDecision,
  filter: OutboxFilter,
  { shown, ...terms }: DecisionTerms,
): Promise<Decided | { readonly moved: SelectionDigest }> {
  const { batch = null, orWithoutProject = false, ...restrictions } = filter
  const isRestricted = Object.values(restrictions).some((restriction) => restriction !== undefined)
  if (decision === 'cancelled' && shown === undefined && !isRestricted) {
    const isInFlight = sql`project_id = ${context.project} and status in ('sending','uncertain')`
    const result = await recordCancellation(
      context,
      { batch, orWithoutProject, ...terms },
      async (trx) => {
        await applyToRows(trx, { decision, filter, terms, among: isInFlight })
      },
    )
    return followFor(context, result)
  }
  // Rows that still have to follow an earlier decision have an outdated status.
  await followDecisions(context, Number.POSITIVE_INFINITY)
  const decideAmong = async (trx: ProjectDb, among: RawBuilder<unknown>): Promise<Decided> => {
    const rows = await applyToRows(trx, { decision, filter, terms, among })
    await updateBatches(trx, decision, rows, terms.by)
    if (terms.audit !== undefined) await appendEvent(trx.db, terms.audit(rows.length), trx.clock())
    return { count: rows.length, ids: rows.slice(0, idsReturned).map(({ id }) => id) }
  }
  // An undo must not race with the end of the grace.
  const isUndo = decision === 'approval_undone'
  if (shown === undefined && filter.ids === undefined && !isUndo && terms.audit === undefined)
    return decideInWindows(context, batch, decideAmong)
  return inDurableTransaction(context, async (trx) => {
    await acquireCancellationLock(trx, isUndo ? 'exclusive' : 'shared')
    if (shown === undefined) return decideAmong(trx, sql`project_id = ${trx.project}`)
    const { ids, ...now } = await lockSelection(trx, shown.filter)
    const isSame =
      shown.digest.length >= shortestDigest && now.digest.startsWith(shown.digest.toLowerCase())
    // A row that was inserted since is not among those that were shown.
    return isSame
      ? decideAmong(trx, sql`project_id = ${trx.project} and id ${inList(trx.kind, ids)}`)
      : { moved: now }
  })
}

async function decideInWindows(
  context: ProjectDb,
  batch: string | null,
  decideAmong: (trx: ProjectDb, among: RawBuilder<unknown>) => Promise<Decided>,
): Promise<Decided> {
  let decided: Decided = { count: 0, ids: [] }
  for (let after = 0; ; ) {
    const end = await findWindowEnd(context, { batch, after, upTo: Number.MAX_SAFE_INTEGER })
    if (end === null) return decided
    const among = sql`seq > ${after} and seq <= ${end} and project_id || '' = ${context.project}`
    const { count, ids } = await inDurableTransaction(context, async (trx) => {
      await acquireCancellationLock(trx, 'shared')
      return decideAmong(trx, among)
    })
    decided = { count: decided.count + count, ids: [...decided.ids, ...ids].slice(0, idsReturned) }
    after = end
  }
}

/** The batches say who approved rows of them last, and whether they are finished. */
async function updateBatches(
  trx: ProjectDb,
  decision: OutboxDecision,
  moved: readonly DecidedRow[],
  by: string,
) {
  const { db, kind, project } = trx
  const changes = batchChanges(trx, decision, by)
  const batches = [...new Set(moved.flatMap(({ batchId }) => batchId ?? []))]
  if (changes === null || batches.length === 0) return
  await sql`update writeback_batches set ${changes} where project_id = ${project}
    and id ${inList(kind, batches)}`.execute(db)
}

function batchChanges(
  trx: ProjectDb,
  decision: OutboxDecision,
  by: string,
): RawBuilder<unknown> | null {
  switch (decision) {
    case 'approved':
      return sql`approved_at = ${toTimeValue(trx)}, approved_by = ${by}`
    case 'approval_undone': {
      const isApproved = sql`exists (select 1 from writebacks
        where writebacks.project_id = writeback_batches.project_id
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

/**
 * Writing is switched off: what is in flight is verified, but never sent again. `by`: a setting.
 */
export async function revokeSending(context: ProjectDb, by: string): Promise<void> {
  await inDurableTransaction(context, ({ db, project }) =>
    sql`update writebacks set revoked_as = 'cancelled', reason = ${`cancelled by ${by}`}
      where project_id = ${project} and status = 'sending' and revoked_as is null`.execute(db),
  )
}
revokeSending.mayRepeat = true as const

type RowDecision = {
  readonly decision: OutboxDecision
  readonly filter: OutboxFilter
  readonly terms: DecisionTerms
  /** A further condition, which keeps the statement to a part of the queue. */
  readonly among: RawBuilder<unknown>
}

type DecidedRow = { readonly id: string; readonly batchId: string | null }

/**
 * One statement, so that no row whose status changes is missed. The token increases, so no process
 * that holds the claim can send. A row in flight stays with the process that sent it.
 */
async function applyToRows(trx: ProjectDb, step: RowDecision): Promise<readonly DecidedRow[]> {
  const { decision, filter, terms, among } = step
  const moves = writebackStates.flatMap((from) => {
    const to = nextState(from, decision)
    return to === null ? [] : [{ from, to }]
  })
  const { to: target, logged } = decisionOf(decision)
  const changing = moves.filter(
    ({ from, to }) => toStoredState(from).status !== toStoredState(to).status,
  )
  const hasMoved = inStatesSql(changing.map(({ from }) => from))
  const why = `${logged} by ${terms.by}`
  const now = toTimeValue(trx)
  const text = (value: string | null) => trx.typed('text', value)
  const others = terms.approveOwn === false ? await listOtherAuthors(trx, step) : []
  const { graceMs = 0 } = terms
  const dueAt = trx.typed(
    'integer',
    decision === 'approved' && graceMs > 0 ? trx.clock() + graceMs : null,
  )
  const isOpen = target === 'queued' || target === 'draft'
  const { rows } = await sql<DecidedRow & { status: WritebackStatus }>`
    update writebacks set status = case when ${hasMoved} then ${target} else status end,
      revoked_as = case when ${hasMoved} then null
      else ${text(decision === 'cancelled' ? 'cancelled' : null)} end,
      reason = case when ${hasMoved} or status = 'sending' then ${why} else reason end,
      error = case when ${hasMoved} then ${text(target === 'failed' ? why : null)} else error end,
      finished_at = case when ${hasMoved} then ${isOpen ? sql`null` : now} else finished_at end,
      fencing_token = fencing_token + case when ${hasMoved} then 1 else 0 end,
      owner = case when ${hasMoved} then null else owner end,
      lease_until = case when ${hasMoved} then null else lease_until end,
      stopped_by = case when ${hasMoved} then null else stopped_by end,
      postponed = case when ${hasMoved} then null else postponed end,
      due_at = case when ${hasMoved} then ${dueAt} else due_at end
      , ${decidedSql(trx, terms.by)} ${changesOf(trx, decision, terms.by, dueAt)}
    where ${among} and ${inStatesSql(moves.map(({ from }) => from))}
    and ${filterSql(trx.kind, filter)}
      and ${decidableSql(trx, step, notQueuedBySql(trx, others))}
      returning id, batch_id as "batchId", status`.execute(trx.db)
  return rows.filter(({ status }) => status === target)
}

function changesOf(
  trx: ProjectDb,
  decision: OutboxDecision,
  by: string,
  dueAt: RawBuilder<unknown>,
): RawBuilder<unknown> {
  switch (decision) {
    case 'approved':
      return sql`, approved_by = ${by}, undo_until = ${dueAt}`
    case 'approval_undone':
      return sql`, approved_by = null, undo_until = null`
    case 'retried':
      return sql`, evidence = ${earlierSendSql(trx.kind)}, expect = null,
        approved_by = case when ${mayHaveArrivedSql(trx.kind)} then ${by} else approved_by end,
        target_snapshot = ${selectTargetSnapshot(trx, 'writebacks')},
        expires_at = case when expires_at > ${toTimeValue(trx)} then expires_at end`
    default:
      return sql``
  }
}

function decidableSql(
  trx: ProjectDb,
  { decision, filter, terms }: RowDecision,
  isOthers: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const isStrict = terms.approveOwn === false
  switch (decision) {
    case 'approved':
      return allOf([sql`not ${inStoppedBatchSql}`, isStrict ? isOthers : null])
    case 'approval_undone':
      // A corrected row keeps the sends of the one that it replaced, without their time.
      return sql`undo_until > ${trx.clock()} and (attempts = 0 or sent_at is null)`
    case 'retried':
      return allOf([
        sql`not ${inStoppedBatchSql} and erased_at is null`,
        // Else a draft of one's own, cancelled and queued again, would need nobody's approval.
        isStrict ? sql`(approved_by is not null or not ${beganAsDraftSql})` : null,
        // It may reach the customer twice, which another person approves.
        isStrict ? sql`(not ${mayHaveArrivedSql(trx.kind)} or ${isOthers})` : null,
      ])
    case 'arrived':
    case 'lost':
      // A row in flight can be resolved only by its id, when no process waits for its response.
      return filter.ids === undefined
        ? sql`status <> 'sending'`
        : sql`(status <> 'sending' or owner is null)`
    case 'cancelled':
      return sql`true`
  }
}

/**
 * Whose rows may be decided. Names are folded in code, so the statement names those that are
 * others: what is queued meanwhile by another name stays.
 */
async function listOtherAuthors(
  trx: ProjectDb,
  { filter, terms, among }: RowDecision,
): Promise<readonly string[]> {
  const { rows } = await sql<{ author: string }>`
    select distinct created_by as author from writebacks
    where ${among} and ${filterSql(trx.kind, filter)} and created_by is not null`.execute(trx.db)
  return rows
    .map(({ author }) => author)
    .filter((author) => !isQueuedBy(decodeText(author), terms.by))
}

function notQueuedBySql({ kind }: ProjectDb, others: readonly string[]): RawBuilder<unknown> {
  return sql`(created_by is null or created_by ${inList(kind, others)})`
}

/** As it was queued, or as its last correction was, which is no decision of a person. */
const beganAsDraftSql = sql`(select began.to_status from writeback_events began
  where began.project_id = writebacks.project_id and began.writeback_id = writebacks.id
    and (began.from_status is null or (began.from_status in ('failed','conflict')
    and began.person is null))
  order by began.seq desc limit 1) = 'draft'`

function inStatesSql(states: readonly WritebackState[]): RawBuilder<unknown> {
  const inStateSql = (state: WritebackState) => {
    const { status, revokedAs, isStopped } = toStoredState(state)
    if (revokedAs !== null) return sql`(status || '' = ${status} and revoked_as = ${revokedAs})`
    if (status === 'draft')
      return sql`(status || '' = ${status} and stopped_by is
        ${isStopped ? sql`not null` : sql`null`})`
    const plainStatesSql =
      status === 'sending' || status === 'uncertain' ? sql`revoked_as is null` : sql`true`
    return sql`(status || '' = ${status} and ${plainStatesSql})`
  }
  return states.length === 0 ? sql`false` : sql`(${sql.join(states.map(inStateSql), sql` or `)})`
}
