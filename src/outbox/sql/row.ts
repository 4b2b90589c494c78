/** A row of `writebacks` as stored, and how its values are decoded and encoded. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import {
  shownColumns,
  snapshotSql,
  type TargetKind,
  targetKinds,
} from '../../../schema/operation-specs.ts'
import { type Json, stringifyJson, tryParseJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { inAnyCase, inList, typedParameter } from '../../warehouse/dialect.ts'
import { decodeJson, decodeText, encodeJson, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  type CommonValues,
  commonFields,
  commonNames,
  commonValue,
  conditionNames,
} from '../core/common-fields.ts'
import { type TargetState, toShownFields } from '../core/field-kinds.ts'
import { type OperationType, operationsWhere, operationTypes } from '../core/operations.ts'
import {
  type Evidence,
  evidenceSchema,
  type OutboxEntry,
  type Writeback,
} from '../core/outbox-entry.ts'
import type { WritebackStatus } from '../core/state.ts'
import { parseRequest, type WritebackRequest } from '../core/writeback-request.ts'

/** A write-back as its columns hold it. */
export type OutboxRow = Omit<Writeback, 'target' | 'request' | 'targetSnapshot' | 'evidence'> &
  CommonValues &
  Pick<OutboxEntry, 'conversationId' | 'visitorId'> & {
    readonly payload: string
    readonly targetSnapshot: string | null
    readonly evidence: string | null
    readonly owner: string | null
  }

/** Columns of `writebacks` by their names in code. */
export function columnsOf(names: string, others: readonly string[] = []): RawBuilder<unknown> {
  const columns = [...names.split(/\s+/), ...others].map((name) => {
    const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return sql`${sql.ref(column)} as ${sql.ref(name)}`
  })
  return sql.join(columns)
}

/** Without the status, which may be another than the stored one. */
export const outboxColumns = columnsOf(
  `id seq lane operation conversationId visitorId payload attempts batchId sourceRow createdAt sentAt
    finishedAt targetSnapshot evidence fencingToken owner revokedAs`,
  commonNames.map((name) => commonFields[name].property),
)

/** The only place where what is stored is validated. */
export function toWriteback(kind: DatabaseKind, row: OutboxRow): Writeback {
  const { conversationId, visitorId, payload, owner: _, ...stored } = row
  const kindOfTarget = operationTypes[row.operation].target
  const target = kindOfTarget === 'conversation' ? conversationId : visitorId
  const fields = {
    operation: row.operation,
    [`${kindOfTarget}_id`]: target,
    ...Object.fromEntries(conditionNames.map((name) => [name, commonValue(row, name)])),
  }
  return {
    ...stored,
    target: target ?? '',
    request: parseRequest({ ...JSON.parse(decodeJson(kind, payload)), ...fields }),
    revokedAs: row.status === 'sending' ? row.revokedAs : null,
    targetSnapshot:
      row.targetSnapshot === null
        ? null
        : decodeTexts(JSON.parse(decodeJson(kind, row.targetSnapshot))),
    evidence: decodeEvidence(kind, row.evidence),
  }
}

/** Some characters are stored escaped. */
export function decodeTexts<Row extends object>(row: Row): Row {
  const decoded = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'string' ? decodeText(value) : value,
  ])
  return Object.fromEntries(decoded) as Row
}

/** Evidence may contain any characters, as it quotes the service and visitors. */
export function encodeEvidence(kind: DatabaseKind, evidence: Evidence): RawBuilder<string> {
  return typedParameter(kind, 'json', encodeJson(kind, stringifyJson(evidence as Json)))
}

export function decodeEvidence(kind: DatabaseKind, stored: string | null): Evidence {
  return evidenceSchema.catch({}).parse(tryParseJson(decodeJson(kind, stored ?? '{}')))
}

/** The fields of a target's row in the mirror that `shownSql` reads. */
export function decodeShown(row: object): TargetState {
  return toShownFields(decodeTexts({ ...row }))
}

export function shownSql({ kind }: ProjectDb, target: TargetKind): RawBuilder<unknown> {
  return sql.raw(shownColumns(kind, target, `${target}s.`))
}

export function textParameter(
  { kind, typed }: ProjectDb,
  text: string | null,
): RawBuilder<string | null> {
  return typed('text', text === null ? null : encodeText(kind, text))
}

/** A person decided. `decided_at` always grows, as the event log goes by its change. */
export function decidedSql({ typed, clock }: ProjectDb, by: string): RawBuilder<unknown> {
  const now = typed('integer', clock())
  return sql`decided_by = ${typed('text', by)},
    decided_at = case when decided_at >= ${now} then decided_at + 1 else ${now} end`
}

/** An SQL condition. Literals, so that it implies the condition of an index. */
export function operationSql(
  condition: (type: OperationType) => boolean,
  operation: RawBuilder<unknown> = sql`operation`,
): RawBuilder<unknown> {
  return sql`${operation} in (${sql.join(operationsWhere(condition).map((name) => sql.lit(name)))})`
}

/** A part of the evidence, as JSON; null if there is none, or the column holds something else. */
function evidenceSql(kind: DatabaseKind, name: string): RawBuilder<unknown> {
  return kind === 'sqlite'
    ? sql`(case when json_valid(writebacks.evidence) then writebacks.evidence
      end -> ${sql.lit(`$.${name}`)})`
    : sql`(writebacks.evidence -> ${sql.lit(name)})`
}

/** What was there before its first send that no response proved. */
function firstKnownSql(kind: DatabaseKind): RawBuilder<unknown> {
  const parts = ['earlier', 'firstBefore', 'before'].map((name) => evidenceSql(kind, name))
  return sql`coalesce(${sql.join(parts)})`
}

/** A reply or a note: sent twice, it is there twice. */
const isSendSql = operationSql(({ isIdempotent }) => !isIdempotent, sql`writebacks.operation`)

/** Nobody knew whether it had arrived, or a person said that it had not. */
const inDoubtSql = (event: 'event' | 'doubt') => {
  const column = (name: string) => sql.ref(`${event}.${name}`)
  return sql`(${column('to_status')} = 'uncertain' or (${column('from_status')} = 'sending'
    and ${column('person')} is not null and ${column('to_status')} = 'failed'))`
}

const hasEventSql = (condition: RawBuilder<unknown>) =>
  sql`exists (select 1 from writeback_events event where event.project_id = writebacks.project_id
    and event.writeback_id = writebacks.id and ${condition})`

/** An earlier send may have arrived: nothing but a person's word says that it did not. */
export function mayHaveArrivedSql(kind: DatabaseKind): RawBuilder<boolean> {
  return sql`(${isSendSql} and writebacks.status in ('failed','conflict','cancelled','expired')
    and (${hasEventSql(inDoubtSql('event'))} or (writebacks.status = 'conflict' and ${firstKnownSql(kind)} is not null)))`
}

/**
 * A person had this reply or note sent again, or queued for that, although an earlier send of it
 * may have arrived.
 */
export function isSentAgainSql(kind: DatabaseKind): RawBuilder<boolean> {
  const earlier = evidenceSql(kind, 'earlier')
  const requeued = sql`event.from_status in ('failed','conflict','cancelled','expired')
    and event.to_status = 'queued' and (${earlier} is not null or exists (
      select 1 from writeback_events doubt where doubt.project_id = event.project_id
        and doubt.writeback_id = event.writeback_id and doubt.seq < event.seq
        and ${inDoubtSql('doubt')}))`
  const left = sql`exists (select 1 from writeback_events later
    where later.project_id = event.project_id and later.writeback_id = event.writeback_id
      and later.seq > event.seq and later.to_status = 'sending')`
  return sql`(${isSendSql} and ((writebacks.status in ('draft','queued','sending')
      and ${hasEventSql(requeued)})
    or (writebacks.status = 'succeeded' and ${hasEventSql(sql`${requeued} and ${left}`)})))`
}

/** The evidence of a reply that is sent again: an earlier send of it is looked for just before. */
export function earlierSendSql(kind: DatabaseKind): RawBuilder<unknown> {
  const known = firstKnownSql(kind)
  const earlier =
    kind === 'sqlite'
      ? sql`json_object('earlier', json(${known}))`
      : sql`jsonb_build_object('earlier', ${known})`
  return sql`case when ${mayHaveArrivedSql(kind)} and writebacks.operation = 'message'
    and ${known} is not null
    then ${earlier} end`
}

/** In the same form as the insert trigger stores it in `target_snapshot`. */
export function selectTargetSnapshot(
  { kind }: ProjectDb,
  row: 'writebacks' | 'excluded',
): RawBuilder<unknown> {
  const of = (column: string) => sql.ref(`${row}.${column}`)
  const shown = (
    target: TargetKind,
  ) => sql`(select ${sql.raw(snapshotSql(kind, target))} from ${sql.table(`${target}s`)} shown
    where shown.project_id = ${of('project_id')} and shown.id = ${of(`${target}_id`)})`
  return sql`case when ${operationSql(({ target }) => target === 'conversation', of('operation'))}
    then ${shown('conversation')} else ${shown('visitor')} end`
}

export type WritebackTarget = Pick<WritebackRequest, 'operation' | 'target'>

/** The target's id as the mirror has it; as it was written if the mirror does not have it. */
export async function readShownIds(
  context: ProjectDb,
  requests: readonly WritebackTarget[],
): Promise<(request: WritebackTarget) => string> {
  const shown = new Map<string, string>()
  for (const kind of targetKinds) {
    const targets = requests.filter(({ operation }) => operationTypes[operation].target === kind)
    const ids = targets.map(({ target }) => target)
    for (const id of await listMirroredIds(context, kind, ids))
      shown.set(`${kind} ${id.toLowerCase()}`, id)
  }
  return ({ operation, target }) =>
    shown.get(`${operationTypes[operation].target} ${target.toLowerCase()}`) ?? target
}

async function listMirroredIds(
  { db, kind, project }: ProjectDb,
  target: TargetKind,
  ids: readonly string[],
) {
  const written = new Set(ids)
  const others = inAnyCase(ids).filter((id) => !written.has(id))
  if (others.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(`${target}s`)} where project_id = ${project}
    and id ${inList(kind, others)}`.execute(db)
  return rows.map(({ id }) => id)
}

/** The write-back is cancelled, but its row is not updated yet. */
export const coveredByCancelSql = sql`exists (select 1 from writeback_cancellations decided
  where (decided.project_id = writebacks.project_id
      or (decided.includes_rows_without_project = 1 and writebacks.project_id = ''))
    and decided.finished_at is null and writebacks.seq > decided.done_to
    and writebacks.seq <= decided.up_to
    and (decided.batch_id is null or decided.batch_id = writebacks.batch_id))`

/** The row in `writebacks` belongs to a stopped batch. */
export const inStoppedBatchSql = sql`exists (select 1 from writeback_batches stopped
  where stopped.project_id = writebacks.project_id and stopped.id = writebacks.batch_id
  and stopped.stopped_at is not null)`

/** A person has stopped its batch, or all sending of the project. */
export function heldBackSql(project: ProjectId): RawBuilder<unknown> {
  return sql`(${inStoppedBatchSql} or exists (select 1 from sync_projects
    where sync_projects.project_id = ${project} and sending_stopped_at is not null))`
}

/** Assignments: with the new token, the process that has claimed the row cannot send it. */
export const takeClaimSql = sql`fencing_token = fencing_token + 1, owner = null, lease_until = null`

/** A draft that was queued when its batch was stopped, and goes on with it. */
export const isStoppedSql = sql`(status = 'draft' and stopped_by is not null)`

/** Of which not all rows have followed yet. `stop`: or resumption. */
export async function findOpenDecisions({ db, project }: ProjectDb) {
  const { rows } = await sql<{ kind: 'cancellation' | 'stop' }>`
    select 'cancellation' as kind where exists (select 1 from writeback_cancellations
      where project_id = ${project} and finished_at is null)
    union all select 'stop' where exists (select 1 from writeback_batches
      where project_id = ${project} and done_to is not null)`.execute(db)
  const open = new Set(rows.map(({ kind }) => kind))
  return { cancellation: open.has('cancellation'), stop: open.has('stop') }
}

/** An SQL expression for the status, with decisions that the row does not follow yet. */
export async function effectiveStatus(context: ProjectDb): Promise<RawBuilder<unknown>> {
  const open = await findOpenDecisions(context)
  const cancelled = open.cancellation
    ? sql`when status in ('draft','queued') and ${coveredByCancelSql} then 'cancelled'`
    : sql``
  const stopped = open.stop
    ? sql`when status = 'queued' and ${inStoppedBatchSql} then 'draft'
        when ${isStoppedSql} and not ${inStoppedBatchSql} then 'queued'`
    : sql``
  return sql`case ${cancelled} ${stopped} when true then status end`
}

/** For `status in (…)`. */
export const statusesSql = (statuses: readonly WritebackStatus[]) =>
  sql.join(statuses.map((status) => sql.lit(status)))
