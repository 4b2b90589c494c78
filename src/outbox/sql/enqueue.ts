/** Queues write-backs in SQL: all of an import in one transaction, or none, and each ref once. */
import { type RawBuilder, sql } from 'kysely'
import { type ColumnSpec, plainType } from '../../../schema/column-types.ts'
import { outboxTables } from '../../../schema/outbox-tables.ts'
import type { NewAuditEvent } from '../../../schema/row.ts'
import { appendEvent } from '../../warehouse/audit-log.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import { decodeText, encodeJson, encodeText } from '../../warehouse/escape.ts'
import { newId, type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction, inDurableTransactionOnce } from '../../warehouse/transactions.ts'
import type { BatchDescription, ColumnMap } from '../core/batches.ts'
import { commonNames, commonValue, conditionNames } from '../core/common-fields.ts'
import { operationTypes } from '../core/operations.ts'
import type { WritebackRequest } from '../core/writeback-request.ts'
import { earlierSendSql, readShownIds, selectTargetSnapshot, textParameter } from './row.ts'

/** `draft` needs approval before it is sent. */
export type EnqueueOptions = {
  readonly status: 'queued' | 'draft'
  readonly batchId: string | null
  readonly createdBy: string | null
  /** The default for requests without an expiry. */
  readonly expiresAt: string | null
  /** What is stored with the batch; without it, only its name and who queued it. */
  readonly batch?: BatchDescription & { readonly columns?: ColumnMap }
  /** Queues nothing if batches were queued since this was read by `readQueueMark`. */
  readonly unlessMovedSince?: string
  /** As of a decision. `alreadyQueued`: rows whose refs were queued before. */
  readonly audit?: (queued: number, alreadyQueued: number) => NewAuditEvent
}

/**
 * `digest`: of the imported file. If it was imported before, only the name of that import returns.
 */
export async function enqueue(
  context: ProjectDb,
  requests: AsyncIterable<readonly WritebackRequest[]> | readonly (readonly WritebackRequest[])[],
  options: EnqueueOptions,
  digest?: string,
) {
  return inDurableTransactionOnce(context, async (trx) => {
    await acquireLock(trx.db, trx.kind, `deskmirror.import ${trx.project}`)
    const before = digest === undefined ? null : await findImport(trx, digest)
    if (before !== null) return { importedAs: before }
    const { unlessMovedSince: mark } = options
    if (mark !== undefined && mark !== (await readQueueMark(trx))) return { overtaken: true }
    await insertBatch(trx, options)
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
    if (queued === 0)
      await sql`delete from writeback_batches where project_id = ${trx.project}
        and id = ${options.batchId} and rows = 0`.execute(trx.db)
    const alreadyQueued = received - queued
    if (options.audit !== undefined)
      await appendEvent(trx.db, options.audit(queued, alreadyQueued), trx.clock())
    return { ids, queued, alreadyQueued }
  })
}

/**
 * Differs as soon as another batch was queued; a transaction with a lower `seq` may commit later.
 */
export async function readQueueMark({ db, project }: ProjectDb): Promise<string> {
  const { rows } = await sql<{ batches: number; rows: number }>`
    select count(*) as batches, coalesce(sum(rows), 0) as rows from writeback_batches
    where project_id = ${project}`.execute(db)
  return `${rows[0]?.batches} ${rows[0]?.rows}`
}

/** Of the same bytes, also if its rows belong to the batch of a correction. */
export async function findImport(
  { db, project }: ProjectDb,
  digest: string,
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from writeback_batches where project_id = ${project} and id like ${`%-${digest}`}
    limit 1`.execute(db)
  return rows[0]?.id ?? null
}

/** The refs that are already queued and would be skipped, by the same rule as `insertRequests`. */
export async function findDuplicateRefs(
  { db, kind, project }: ProjectDb,
  refs: readonly string[],
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const wanted = sql.join(refs.map((ref) => encodeText(kind, ref)))
  const { rows } = await sql<{ ref: string }>`
    select ref from writebacks where project_id = ${project} and ref in (${wanted})
      and (status not in ('failed','conflict') or erased_at is not null)`.execute(db)
  return new Set(rows.map(({ ref }) => decodeText(ref)))
}

const replacedColumns = [
  'operation',
  'conversation_id',
  'visitor_id',
  'payload',
  'status',
  'batch_id',
  'created_by',
  'source_row',
  'found_by',
]

/**
 * A known ref is skipped; if it failed or conflicted, the request replaces it and all said of it.
 */
async function insertRequests(
  trx: ProjectDb,
  requests: readonly WritebackRequest[],
  options: EnqueueOptions,
): Promise<readonly string[]> {
  const { db, kind, project, typed } = trx
  if (requests.length === 0) return []
  const now = trx.clock()
  const value = (text: string | null) => textParameter(trx, text)
  const shownId = await readShownIds(trx, requests)
  const rows = requests.map((request) => {
    const target = operationTypes[request.operation].target
    const id = shownId(request)
    const expiresAt = request.expiresAt ?? options.expiresAt
    const payload = encodeJson(kind, JSON.stringify(request.payload))
    return sql`(${project}, ${newId(now)}, ${request.operation},
      ${value(target === 'conversation' ? id : null)},
      ${value(target === 'visitor' ? id : null)}, ${typed('json', payload)}, ${options.status},
      ${value(options.batchId)},
      ${value(options.createdBy)}, ${typed('integer', request.sourceRow ?? null)},
      ${value(request.foundBy ?? null)},
      ${sql.join(toCommonParameters(trx, { ...request, expiresAt }))})`
  })
  const columns = [...replacedColumns, ...commonNames].map((name) => sql.ref(name))
  const { rows: inserted } = await sql<{ id: string }>`
    insert into writebacks (project_id, id, ${sql.join(columns)})
    values ${sql.join(rows)} on conflict (project_id, ref) where ref is not null do update set
      ${sql.join([...replacedColumns, ...conditionNames].map(replaceSql))},
      reason = 'corrected and queued again', postponed = null,
      approved_by = null, undo_until = null, sent_at = null, error = null, finished_at = null,
      due_at = null,
      evidence = case when lower(excluded.conversation_id) = lower(writebacks.conversation_id)
      then ${earlierSendSql(kind)} end, target_snapshot = ${selectTargetSnapshot(trx, 'excluded')}
    where writebacks.status in ('failed','conflict') and writebacks.erased_at is null
    returning id`.execute(db)
  return inserted.map(({ id }) => id)
}

function toCommonParameters(
  trx: ProjectDb,
  request: WritebackRequest,
): readonly RawBuilder<unknown>[] {
  return commonNames.map((name) => {
    const type: ColumnSpec[0] = outboxTables.writebacks.columns[name][0]
    const value = commonValue(request, name)
    return type === 'text?' ? textParameter(trx, value) : trx.typed(plainType[type], value)
  })
}

function replaceSql(column: string): RawBuilder<unknown> {
  return sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`
}

/** Triggers count its rows. A batch that exists keeps what was said about it. */
async function insertBatch(
  trx: ProjectDb,
  { batchId, batch, createdBy }: EnqueueOptions,
): Promise<void> {
  if (batchId === null) return
  const { db, project } = trx
  const { title = null, source = null, note = null, reverts = null, columns = {} } = batch ?? {}
  const columnMap = Object.keys(columns).length === 0 ? null : JSON.stringify(columns)
  const value = (text: string | null) => textParameter(trx, text)
  await sql`insert into writeback_batches (project_id, id, title, source, note, reverts, column_map,
    created_at,
      created_by)
    values (${project}, ${batchId}, ${value(title)}, ${value(source)}, ${value(note)},
    ${value(reverts)},
      ${value(columnMap)}, ${toTimeValue(trx)}, ${value(createdBy)})
    on conflict (project_id, id) do nothing`.execute(db)
}

/** What people said that columns mean, the newest first. */
export async function listColumnMaps({ db, project }: ProjectDb): Promise<readonly ColumnMap[]> {
  const { rows } = await sql<{ map: string }>`select column_map as map from writeback_batches
    where project_id = ${project} and column_map is not null order by created_at desc
    limit 100`.execute(db)
  return rows.map(({ map }) => JSON.parse(decodeText(map)))
}

/**
 * Rows that SQL inserted without a project, if the warehouse holds no other. Returns how many. A
 * row whose ref was queued before is cancelled.
 */
export async function assignProject(context: ProjectDb): Promise<number> {
  const { rows } = await sql`select 1 from writebacks where project_id = '' limit 1`.execute(
    context.db,
  )
  if (rows.length === 0) return 0
  return inDurableTransaction(context, async (trx) => {
    const { db, project } = trx
    const others =
      await sql`select 1 from sync_streams where project_id <> ${project} limit 1`.execute(db)
    if (others.rows.length > 0) return 0
    // A row whose id already exists in the project is a duplicate and is left alone.
    const assignable = sql`project_id = '' and not exists (select 1 from writebacks same
      where same.project_id = ${project} and same.id = writebacks.id)`
    const known = sql`exists (select 1 from writebacks known
      where known.project_id = ${project} and known.ref = writebacks.ref)`
    await sql`update writeback_events set project_id = ${project} where project_id = ''
      and writeback_id in
      (select id from writebacks where ${assignable})`.execute(db)
    const why = 'its ref was queued before'
    await sql`update writebacks set project_id = ${project}, ref = null, status = 'cancelled',
      reason = ${why}, error = ${why},
      finished_at = ${toTimeValue(trx)} where ${assignable} and ${known}`.execute(db)
    const { numAffectedRows } =
      await sql`update writebacks set project_id = ${project} where ${assignable}`.execute(db)
    await assignBatches({ ...context, db })
    return Number(numAffectedRows ?? 0n)
  })
}
assignProject.mayRepeat = true as const

/** Batches of rows without a project move with their rows. */
async function assignBatches({ db, project }: ProjectDb): Promise<void> {
  const isAffected = sql`exists (select 1 from writeback_batches without_project
    where without_project.project_id = '' and without_project.id = writebacks.batch_id)`
  await sql`insert into writeback_batches (project_id, id, rows, created_at, created_by)
    select project_id, batch_id, count(*), min(created_at), min(created_by) from writebacks
    where project_id = ${project} and batch_id is not null and ${isAffected}
    group by project_id, batch_id
    on conflict (project_id, id) do update set rows = excluded.rows, finished_at = null,
      done_to = case when writeback_batches.stopped_at is not null then 0
      else writeback_batches.done_to end`.execute(db)
  await sql`delete from writeback_batches where project_id = '' and not exists (select 1
    from writebacks
    where writebacks.project_id = '' and writebacks.batch_id = writeback_batches.id)`.execute(db)
}
