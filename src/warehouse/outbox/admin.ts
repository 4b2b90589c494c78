/** OutboxAdmin in SQL. Each decision is durable and adds a row to the event log. */
import { type RawBuilder, sql } from 'kysely'
import type {
  BlockedLane,
  EnqueueOptions,
  EventLogEntry,
  OutboxAdmin,
  OutboxEntry,
  OutboxFilter,
} from '../../core/outbox/admin.ts'
import type { StatusCounts, WritebackStatus } from '../../core/outbox/state.ts'
import { operationTypes, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { acquireLock } from '../database/dialect.ts'
import { inDurableTransaction, inDurableTransactionOnce } from '../database/durable-transaction.ts'
import { decodeJson, decodeText, encodeJson, encodeText } from '../database/escape.ts'
import { newId } from '../database/new-id.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { effectiveStatus } from './cancellations.ts'
import { applyDecision, filterSql, revokeSending } from './decisions.ts'
import { selectTargetSnapshot, toTimeValue } from './row.ts'

export function createOutboxAdmin(context: ProjectDb): OutboxAdmin {
  return {
    enqueue: enqueue.bind(null, context),
    importedAs: findImport.bind(null, context),
    findDuplicateRefs: findDuplicateRefs.bind(null, context),
    findIdsByPrefix: findIdsByPrefix.bind(null, context),
    list: (filter, limit, afterSeq = 0) =>
      listEntries(context, filter, sql`seq > ${afterSeq}`, sql`order by seq limit ${limit}`),
    listNewest: (filter, limit) => listEntries(context, filter, sql`true`, sql`order by seq desc limit ${limit}`),
    listEvents: listEvents.bind(null, context),
    countByStatus: countByStatus.bind(null, context),
    decide: applyDecision.bind(null, context),
    revokeSending: revokeSending.bind(null, context),
    listBlockedLanes: listBlockedLanes.bind(null, context),
    assignProject: assignProject.bind(null, context),
  }
}

async function enqueue(
  context: ProjectDb,
  ...[requests, options, digest]: Parameters<OutboxAdmin['enqueue']>
): ReturnType<OutboxAdmin['enqueue']> {
  return inDurableTransactionOnce(context, async (trx) => {
    await acquireLock(trx.db, trx.kind, `deskmirror.import ${trx.project}`)
    const before = digest === undefined ? null : await findImport(trx, digest)
    if (before !== null) return { importedAs: before }
    let received = 0
    let queued = 0
    const ids: string[] = []
    for await (const chunk of requests) {
      received += chunk.length
      const inserted = await insertRequests(trx, chunk, options)
      queued += inserted.length
      // A caller that queues a few needs their ids; those of a large import are not shown.
      if (ids.length < 100) ids.push(...inserted)
    }
    return { ids, queued, known: received - queued }
  })
}

async function findImport({ db, project }: ProjectDb, digest: string): Promise<string | null> {
  const { rows } = await sql<{ batch_id: string }>`
    select batch_id from writebacks
    where project_id = ${project} and batch_id like ${`%-${digest}`} limit 1`.execute(db)
  return rows[0]?.batch_id ?? null
}

/** By the same rule as `insertRequests`. */
async function findDuplicateRefs({ db, kind, project }: ProjectDb, refs: readonly string[]): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const wanted = sql.join(refs.map((ref) => encodeText(kind, ref)))
  const { rows } = await sql<{ ref: string }>`
    select ref from writebacks where project_id = ${project} and ref in (${wanted})
      and status not in ('failed','conflict')`.execute(db)
  return new Set(rows.map(({ ref }) => decodeText(ref)))
}

/** A request with a ref that failed or conflicted replaces the old row. Any other known ref is skipped. */
async function insertRequests(
  trx: ProjectDb,
  requests: readonly WritebackRequest[],
  options: EnqueueOptions,
): Promise<readonly string[]> {
  const { db, kind, project, typed } = trx
  if (requests.length === 0) return []
  const now = trx.clock()
  const value = (text: string | null) => typed('text', text === null ? null : encodeText(kind, text))
  const rows = requests.map((request) => {
    const target = operationTypes[request.operation].target
    const payload = encodeJson(kind, JSON.stringify(request.payload))
    return sql`(${project}, ${newId(now)}, ${request.operation}, ${value(target === 'conversation' ? request.target : null)},
      ${value(target === 'visitor' ? request.target : null)}, ${typed('json', payload)}, ${options.status}, ${value(options.batchId)},
      ${value(request.ref)}, ${value(request.expect)}, ${typed('time', request.expiresAt ?? options.expiresAt)},
      ${value(options.createdBy)})`
  })
  const { rows: inserted } = await sql<{ id: string }>`
    insert into writebacks (project_id, id, operation, conversation_id, visitor_id, payload, status, batch_id, ref, expect,
      expires_at, created_by)
    values ${sql.join(rows)} on conflict (project_id, ref) where ref is not null do update set
      operation = excluded.operation, conversation_id = excluded.conversation_id, visitor_id = excluded.visitor_id,
      payload = excluded.payload, status = excluded.status, batch_id = excluded.batch_id, expect = excluded.expect,
      expires_at = excluded.expires_at, created_by = excluded.created_by, step = 'corrected and queued again',
      error = null, evidence = null, finished_at = null, due_at = null, seen = ${selectTargetSnapshot(trx, 'excluded')}
    where writebacks.status in ('failed','conflict')
    returning id`.execute(db)
  return inserted.map(({ id }) => id)
}

const entryColumns = sql`id, seq, operation, conversation_id as "conversationId", visitor_id as "visitorId", payload,
  attempts, batch_id as "batchId", ref, expect, expires_at as "expiresAt", created_at as "createdAt",
  created_by as "createdBy", sent_at as "sentAt", finished_at as "finishedAt", request_id as "requestId",
  message_id as "messageId", error, step`

async function listEntries(
  context: ProjectDb,
  filter: OutboxFilter,
  which: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
): Promise<OutboxEntry[]> {
  const status = await effectiveStatus(context)
  const { rows } = await sql<Omit<OutboxEntry, 'payload'> & { payload: string }>`
    select ${entryColumns}, ${status} as status from writebacks
    where project_id = ${context.project} and ${which} and ${filterSql(filter, status)} ${order}`.execute(context.db)
  const text = (stored: string | null) => (stored === null ? null : decodeText(stored))
  return rows.map((row) => ({
    ...row,
    payload: JSON.parse(decodeJson(context.kind, row.payload)),
    ref: text(row.ref),
    createdBy: text(row.createdBy),
  }))
}

async function findIdsByPrefix({ db, project }: ProjectDb, prefix: string): Promise<string[]> {
  if (prefix === '') return []
  const pattern = `${prefix.replace(/[%_\\]/g, '\\$&')}%`
  const { rows } = await sql<{ id: string }>`
    select id from writebacks where project_id = ${project} and id like ${pattern} escape '\\'
    order by case when id = ${prefix} then 0 else 1 end, seq limit 3`.execute(db)
  const ids = rows.map(({ id }) => id)
  return ids[0] === prefix ? [prefix] : ids
}

async function listEvents({ db, project }: ProjectDb, id: string): Promise<EventLogEntry[]> {
  const { rows } = await sql<EventLogEntry>`
    select at, from_status as "from", to_status as "to", detail, request_id as "requestId" from writeback_events
    where project_id = ${project} and writeback_id = ${id} order by seq`.execute(db)
  return [...rows]
}

async function countByStatus(context: ProjectDb, filter: OutboxFilter): Promise<StatusCounts> {
  // Pending cancellations affect only these statuses.
  const isAffected = filter.statuses?.some((wanted) => ['draft', 'queued', 'cancelled'].includes(wanted)) ?? true
  const status = isAffected ? await effectiveStatus(context) : sql`status`
  const { rows } = await sql<{ status: WritebackStatus; count: number }>`
    select ${status} as status, count(*) as count from writebacks
    where project_id = ${context.project} and ${filterSql(filter, status)} group by 1`.execute(context.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function listBlockedLanes({ db, project }: ProjectDb): Promise<BlockedLane[]> {
  const { rows } = await sql<BlockedLane>`
    select id, operation, coalesce(conversation_id, visitor_id) as target,
      (select count(*) from writebacks behind where behind.project_id = writebacks.project_id
        and behind.lane = writebacks.lane and behind.seq > writebacks.seq and behind.status = 'queued') as waiting
    from writebacks where project_id = ${project} and status = 'uncertain' order by seq limit 1000`.execute(db)
  return [...rows]
}

async function assignProject(context: ProjectDb): Promise<number> {
  const { rows } = await sql`select 1 from writebacks where project_id = '' limit 1`.execute(context.db)
  if (rows.length === 0) return 0
  return inDurableTransaction(context, async ({ db, project }) => {
    const others = await sql`select 1 from sync_streams where project_id <> ${project} limit 1`.execute(db)
    if (others.rows.length > 0) return 0
    // A row whose id already exists in the project is a duplicate and is left alone.
    const assignable = sql`project_id = '' and not exists (select 1 from writebacks same
      where same.project_id = ${project} and same.id = writebacks.id)`
    const known = sql`exists (select 1 from writebacks known
      where known.project_id = ${project} and known.ref = writebacks.ref)`
    await sql`update writeback_events set project_id = ${project} where project_id = '' and writeback_id in
      (select id from writebacks where ${assignable})`.execute(db)
    const why = 'its ref was queued before'
    await sql`update writebacks set project_id = ${project}, ref = null, status = 'cancelled', step = ${why}, error = ${why},
      finished_at = ${toTimeValue(context)} where ${assignable} and ${known}`.execute(db)
    const { numAffectedRows } = await sql`update writebacks set project_id = ${project} where ${assignable}`.execute(db)
    return Number(numAffectedRows ?? 0n)
  })
}
