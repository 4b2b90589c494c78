/**
 * Reads a batch by conversation and visitor, with what the mirror shows of each, so that it can be
 * taken back.
 */
import { sql } from 'kysely'
import type { TargetKind } from '../../../schema/operation-specs.ts'
import { toMessageSide } from '../../mirror/core/message-fields.ts'
import { inList } from '../../warehouse/dialect.ts'
import { decodeJson } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { nothingShown } from '../core/field-kinds.ts'
import { operationTypes } from '../core/operations.ts'
import type { BatchRow, LaneToRevert, MirroredTarget, SeenFlagChange } from '../core/revert.ts'
import { notRevertedSql } from './batches.ts'
import { lastEventSeq } from './lane-history.ts'
import { decodeEvidence, decodeShown, type OutboxRow, shownSql, stateBefore } from './row.ts'

const rowsPerRead = 500

/** `sent`: its place in the order of sends. */
type StoredRow = Pick<
  OutboxRow,
  | 'id'
  | 'lane'
  | 'operation'
  | 'conversation_id'
  | 'visitor_id'
  | 'payload'
  | 'status'
  | 'evidence'
  | 'target_snapshot'
> & {
  readonly seq: number
  readonly sentAt: string | null
  readonly finishedAt: string | null
  readonly sent: number
}

/**
 * Of the last send. The event log goes by no clock, and a person may have queued an earlier row
 * again behind a later one.
 */
const sentSql = lastEventSeq(sql`event.to_status = 'sending'`)

/** The last lane of a page may go on in the next one. */
export async function* readLanes(context: ProjectDb, batch: string): AsyncGenerator<LaneToRevert> {
  let rest: readonly StoredRow[] = []
  const isNew = sql`erased_at is null and (status <> 'succeeded' or ${await notRevertedSql(context, batch)})`
  for (let from = { lane: '', seq: 0 }; ; ) {
    const { rows: page } = await sql<StoredRow>`
      select id, seq, lane, operation, conversation_id, visitor_id, payload, status, sent_at as "sentAt",
        finished_at as "finishedAt", evidence, target_snapshot, ${sentSql} as sent
      from writebacks where project_id = ${context.project} and batch_id = ${batch} and ${isNew}
        and (lane, seq) > (${from.lane}, ${from.seq}) order by lane, seq limit ${sql.lit(rowsPerRead)}`.execute(
      context.db,
    )
    const lanes = [...Map.groupBy([...rest, ...page], ({ lane }) => lane).values()]
    const isLast = page.length < rowsPerRead
    rest = isLast ? [] : (lanes.pop() ?? [])
    yield* await withMirror(context, lanes)
    const end = page.at(-1)
    if (isLast || end === undefined) return
    from = end
  }
}

async function withMirror(
  context: ProjectDb,
  lanes: readonly (readonly StoredRow[])[],
): Promise<LaneToRevert[]> {
  const rows = lanes.map((lane) =>
    lane.toSorted((a, b) => a.sent - b.sent).map((row) => toBatchRow(context, row)),
  )
  const targets = [...new Set(rows.flatMap((lane) => lane.map(({ target }) => target)))]
  const found = [
    await readMirrored(context, 'conversation', targets),
    await readMirrored(context, 'visitor', targets),
  ]
  const mirrored = new Map(found.flatMap((some) => [...some]))
  const changes = await readChanges(context, targets)
  return rows.map((lane) => {
    const target = lane[0]?.target ?? ''
    return {
      rows: lane,
      mirrored: mirrored.get(target) ?? null,
      changes: changes.get(target) ?? [],
    }
  })
}

function toBatchRow({ kind }: ProjectDb, row: StoredRow): BatchRow {
  const { id, operation, status, sentAt, finishedAt } = row
  const target = row[`${operationTypes[operation].target}_id`] ?? ''
  const payload: Record<string, unknown> = JSON.parse(decodeJson(kind, row.payload))
  const before = stateBefore(decodeEvidence(kind, row.evidence))
  return {
    id,
    operation,
    target,
    payload,
    status,
    sentAt,
    finishedAt,
    wasMirrored: row.target_snapshot !== null,
    before,
  }
}

type Mirrored = ReadonlyMap<string, MirroredTarget>

async function readMirrored(
  context: ProjectDb,
  target: TargetKind,
  ids: readonly string[],
): Promise<Mirrored> {
  const { db, kind, project } = context
  const last =
    target === 'conversation'
      ? sql`last_message_at as at, last_message_sender_type as by`
      : sql`null as by`
  const { rows } = await sql<{
    id: string
    syncedAt: string
    at: string | null
    by: string | null
  }>`
    select id, synced_at as "syncedAt", ${shownSql(context, target)}, ${last} from ${sql.table(`${target}s`)}
    where project_id = ${project} and deleted_at is null and id ${inList(kind, ids)}`.execute(db)
  return new Map(
    rows.map((row) => {
      const { id, syncedAt, at, by } = row
      // An unknown sender counts as a visitor.
      const lastVisitorMessageAt = by !== null && toMessageSide(by) !== 'team' ? at : null
      return [id, { ...nothingShown, ...decodeShown(row), syncedAt, lastVisitorMessageAt }]
    }),
  )
}

async function readChanges({ db, kind, project }: ProjectDb, ids: readonly string[]) {
  const { rows } = await sql<SeenFlagChange & { conversation: string }>`
    select conversation_id as conversation, seen_at as "seenAt", old_value as old, new_value as "new"
    from conversation_changes where project_id = ${project} and conversation_id ${inList(kind, ids)}
      and field = 'handled_at' order by id`.execute(db)
  return Map.groupBy(rows, ({ conversation }) => conversation)
}
