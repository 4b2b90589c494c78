/** Reads write-backs and their logs for people, and names selections exactly, for an approval. */

import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { targetKinds } from '../../../schema/operation-specs.ts'
import { toTimestamp } from '../../values/time.ts'
import { allOf, countRowsOf, forUpdate, inList } from '../../warehouse/dialect.ts'
import { decodeJson, decodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  commonFields,
  commonNames,
  conditionNames,
  mapCommonValues,
} from '../core/common-fields.ts'
import type { OutboxFilter, SelectionDigest } from '../core/decision-terms.ts'
import { collectReasons, type ReasonGroup } from '../core/group-reasons.ts'
import { type Operation, toLaneName } from '../core/operations.ts'
import type { Candidate, EventLogEntry, EventOfRow, OutboxEntry } from '../core/outbox-entry.ts'
import type { StatusCounts, WritebackStatus } from '../core/state.ts'
import {
  columnsOf,
  decodeEvidence,
  effectiveStatus,
  isSentAgainSql,
  isStoppedSql,
  mayHaveArrivedSql,
} from './row.ts'

const entryColumns = columnsOf(
  `id seq operation conversationId visitorId payload attempts batchId sourceRow foundBy createdAt
    createdBy sentAt finishedAt requestId messageId error reason approvedBy decidedBy stoppedBy
    undoUntil fencingToken`,
  commonNames.map((name) => commonFields[name].property),
)

async function listEntries(
  context: ProjectDb,
  filter: OutboxFilter,
  which: RawBuilder<unknown>,
): Promise<readonly OutboxEntry[]> {
  const { db, kind, project } = context
  const status = await effectiveStatus(context)
  const { rows } = await sql<
    Omit<OutboxEntry, 'payload' | 'undoUntil'> & { payload: string; undoUntil: number | null }
  >`select ${entryColumns}, ${status} as status from writebacks
    where project_id = ${project} and ${filterSql(kind, filter, status)} and ${which}`.execute(db)
  return rows.map((row) => ({
    ...row,
    payload: JSON.parse(decodeJson(kind, row.payload)),
    ...mapCommonValues(row, decodeText),
    createdBy: decodeText(row.createdBy),
    foundBy: decodeText(row.foundBy),
    undoUntil: row.undoUntil === null ? null : toTimestamp(row.undoUntil),
  }))
}

/** In queue order. */
export function list(context: ProjectDb, filter: OutboxFilter, limit: number, afterSeq = 0) {
  return listEntries(context, filter, sql`seq > ${afterSeq} order by seq limit ${limit}`)
}

export function listNewest(
  context: ProjectDb,
  filter: OutboxFilter,
  limit: number,
  beforeSeq = Number.MAX_SAFE_INTEGER,
) {
  return listEntries(context, filter, sql`seq < ${beforeSeq} order by seq desc limit ${limit}`)
}

/** The exact id, or up to three that begin or end with this: ids of one import begin alike. */
export async function findIds({ db, project }: ProjectDb, part: string): Promise<string[]> {
  if (part === '') return []
  // A whole id needs no search through all of them.
  const exact =
    await sql`select 1 from writebacks where project_id = ${project} and id = ${part}`.execute(db)
  if (exact.rows.length > 0) return [part]
  const pattern = part.replace(/[%_\\]/g, '\\$&')
  const { rows } = await sql<{ id: string }>`
    select id from writebacks where project_id = ${project}
      and (id like ${`${pattern}%`} escape '\\' or id like ${`%${pattern}`} escape '\\')
    order by seq limit 3`.execute(db)
  return rows.map(({ id }) => id)
}

/** The names by which rows that have not left were approved. */
export async function listApprovers({ db, project }: ProjectDb): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct approved_by as name from writebacks
    where project_id = ${project} and status = 'queued' and approved_by is not null`.execute(db)
  return rows.map(({ name }) => name)
}

const eventColumns = sql`event.at, event.from_status as "from", event.to_status as "to",
  event.detail,
  event.request_id as "requestId", event.person`

export async function listEvents({ db, project }: ProjectDb, id: string): Promise<EventLogEntry[]> {
  const { rows } = await sql<EventLogEntry>`
    select ${eventColumns} from writeback_events event
    where project_id = ${project} and writeback_id = ${id} order by seq`.execute(db)
  return [...rows]
}

/** The messages that a person has to look at. `at` and what follows: null if not mirrored. */
export async function readCandidates(
  { db, kind, project }: ProjectDb,
  id: string,
): Promise<readonly Candidate[]> {
  const { rows } = await sql<{ conversation: string | null; evidence: string | null }>`
    select conversation_id as conversation, evidence from writebacks
    where project_id = ${project} and id = ${id}`.execute(db)
  const [row] = rows
  const { candidates = [], alreadyThere } = decodeEvidence(kind, row?.evidence ?? null)
  const ids = alreadyThere === undefined ? candidates : [...candidates, alreadyThere]
  const conversation = row?.conversation ?? ''
  if (ids.length === 0) return []
  const found = await sql<Candidate>`
    select cast(id as text) as id, created_at as at, sender_display_name as name, content
    from messages
    where project_id = ${project} and conversation_id in (${conversation},
    ${conversation.toLowerCase()})
      and cast(id as text) ${inList(kind, ids)}`.execute(db)
  const known = new Map(found.rows.map((message) => [message.id, message]))
  return ids.map((candidate) => {
    const message = known.get(candidate)
    if (message === undefined)
      return { id: candidate, isMirrored: false, at: null, name: null, content: null }
    return {
      ...message,
      isMirrored: true,
      name: decodeText(message.name),
      content: decodeText(message.content),
    }
  })
}

/** How many of them may have arrived although a person says that they did not, or nobody knows. */
export async function countMayHaveArrived(
  { db, kind, project }: ProjectDb,
  filter: OutboxFilter,
): Promise<number> {
  const from = sql`writebacks where project_id = ${project} and ${filterSql(kind, filter)}
    and ${mayHaveArrivedSql(kind)}`
  return countRowsOf(db, from)
}

/**
 * Of these replies and notes, those that may have arrived once more than their status says: an
 * earlier send was in doubt, and a person has it sent again or nothing but a person's word says
 * that it did not arrive.
 */
export async function listInDoubt(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`
    select id from writebacks where project_id = ${project} and id ${inList(kind, ids)}
      and (${mayHaveArrivedSql(kind)} or ${isSentAgainSql(kind)})`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

export async function countByStatus(
  context: ProjectDb,
  filter: OutboxFilter,
): Promise<StatusCounts> {
  // Pending cancellations affect only these statuses.
  const isAffected =
    filter.statuses?.some((wanted) => ['draft', 'queued', 'cancelled'].includes(wanted)) ?? true
  const status = isAffected ? await effectiveStatus(context) : sql`status`
  const { rows } = await sql<{ status: WritebackStatus; count: number }>`
    select ${status} as status, count(*) as count from writebacks
    where project_id = ${context.project} and ${filterSql(context.kind, filter, status)}
    group by 1 order by 1`.execute(context.db)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** The latest events of the rows, newest first. */
export async function listLatestEvents(context: ProjectDb, filter: OutboxFilter, limit: number) {
  const { db, kind, project } = context
  const { rows } = await sql<EventOfRow>`
    select event.writeback_id as "writebackId", (select source_row from writebacks own
        where own.project_id = event.project_id
        and own.id = event.writeback_id) as "sourceRow", ${eventColumns}
    from writeback_events event where event.project_id = ${project} and event.writeback_id in
      (select id from writebacks where project_id = ${project} and ${filterSql(kind, filter)})
    order by event.seq desc limit ${limit}`.execute(db)
  return rows
}

export async function countByOperation(context: ProjectDb, filter: OutboxFilter) {
  const status = await effectiveStatus(context)
  const { rows } = await sql<{ operation: Operation; status: WritebackStatus; count: number }>`
    select operation, ${status} as status, count(*) as count from writebacks
    where project_id = ${context.project} and ${filterSql(context.kind, filter, status)}
    group by 1, 2 order by 1, 2`.execute(context.db)
  return rows
}

/** Of what did not succeed, is contradicted by the service, or waits for another attempt. */
export async function groupReasons(
  context: ProjectDb,
  filter: OutboxFilter,
): Promise<readonly ReasonGroup[]> {
  const { db, kind, project } = context
  const status = await effectiveStatus(context)
  const { rows } = await sql<{
    status: WritebackStatus
    reason: string
    count: number
    example: string
  }>`
    select ${status} as status, coalesce(error, reason, '') as reason, count(*) as count,
    min(id) as example from writebacks
    where project_id = ${project} and ${filterSql(kind, filter, status)}
      and (status in ('failed','conflict','uncertain','expired','cancelled')
        or (status = 'succeeded' and error is not null)
        or (status = 'sending' and reason is not null) or (status = 'queued' and postponed = 1))
    group by 1, 2 order by min(id)`.execute(db)
  return collectReasons(rows)
}

/** An SQL condition for the filter. `status`: the SQL expression to compare the status with. */
export function filterSql(
  kind: DatabaseKind,
  { ids, batch, statuses, operations, target, approvedBy, isResumable }: OutboxFilter,
  status: RawBuilder<unknown> = sql`status`,
): RawBuilder<unknown> {
  const oneOf = (column: RawBuilder<unknown>, values: readonly string[] | undefined) => {
    if (values === undefined) return null
    return values.length === 0 ? sql`false` : sql`${column} in (${sql.join(values)})`
  }
  return allOf([
    ids === undefined || ids.length <= 100 ? oneOf(sql`id`, ids) : sql`id ${inList(kind, ids)}`,
    batch === undefined ? null : sql`batch_id = ${batch}`,
    oneOf(sql`approved_by`, approvedBy),
    // A stop reaches its rows one after another, so some may be queued still.
    isResumable === undefined ? null : sql`(status = 'queued' or ${isStoppedSql})`,
    oneOf(status, statuses),
    oneOf(sql`operation`, operations),
    target === undefined ? null : sql`lane ${inList(kind, lanesOf([target].flat()))}`,
  ])
}

const lanesOf = (ids: readonly string[]) =>
  ids.flatMap((id) => targetKinds.map((kind) => toLaneName(kind, id)))

const rowsPerRead = 10_000

export function digestOf(context: ProjectDb, filter: OutboxFilter): Promise<SelectionDigest> {
  return digestRows(context, filter, sql``, () => {})
}

/** The rows stay as they are until the transaction ends; those inserted meanwhile are not named. */
export async function lockSelection(trx: ProjectDb, filter: OutboxFilter) {
  const ids: string[] = []
  return { ...(await digestRows(trx, filter, forUpdate(trx.kind), ({ id }) => ids.push(id))), ids }
}

/** Whether a row leaves, when, to whom and in which words. The token grows with each change. */
const leaves = [
  'id',
  'seq',
  'fencing_token',
  'stopped_by',
  'batch_id',
  'created_by',
  'operation',
  'conversation_id',
  'visitor_id',
  'payload',
]

/** A line for each row, in the order of the queue, written by the database, which is faster. */
async function digestRows(
  context: ProjectDb,
  filter: OutboxFilter,
  lock: RawBuilder<unknown>,
  onRow: (row: { readonly id: string }) => void,
): Promise<SelectionDigest> {
  const { kind } = context
  const status = await effectiveStatus(context)
  // As a text, a time would be in the time zone of the session.
  const timeOf = (column: string) =>
    kind === 'sqlite' ? sql.ref(column) : sql`extract(epoch from ${sql.ref(column)})`
  const columns = [...leaves, ...conditionNames, 'target_snapshot'].map((name) =>
    name === 'expires_at' ? timeOf(name) : sql.ref(name),
  )
  const texts = [status, ...columns].map((value) => sql`cast(${value} as text)`)
  const line = sql`cast(${sql.raw(kind === 'sqlite' ? 'json_array' : 'json_build_array')}(${sql.join(texts)}) as text)`
  const hash = createHash('sha256')
  let count = 0
  let after = 0
  for (;;) {
    const { rows } = await sql<{
      readonly id: string
      readonly seq: number
      readonly line: string
    }>`
      select id, seq, ${line} as line from writebacks
      where project_id = ${context.project} and seq > ${after}
      and ${filterSql(kind, filter, status)}
      order by seq limit ${sql.lit(rowsPerRead)} ${lock}`.execute(context.db)
    hash.update(rows.map((row) => `${row.line}\n`).join(''))
    rows.forEach(onRow)
    count += rows.length
    after = rows.at(-1)?.seq ?? after
    if (rows.length < rowsPerRead) return { digest: hash.digest('hex'), count }
  }
}
