/** Reads a batch by conversation and visitor, with what the mirror shows of each. */
import { sql } from 'kysely'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { LaneToRevert, SeenFlagChange } from '../core/revert.ts'
import { notRevertedSql } from './batches.ts'
import { lastEventSeq } from './lane-history.ts'
import { readTargets } from './review-facts.ts'
import { type OutboxRow, outboxColumns, toWriteback } from './row.ts'

const rowsPerRead = 500

/** `sent`: its place in the order of sends. */
type SentRow = OutboxRow & { readonly sent: number }

/** By the event log: a person may have queued an earlier row again behind a later one. */
const sentSql = lastEventSeq(sql`event.to_status = 'sending'`)

/** The last lane of a page may go on in the next one. */
export async function* readLanes(context: ProjectDb, batch: string): AsyncGenerator<LaneToRevert> {
  let rest: readonly SentRow[] = []
  const isNew = sql`erased_at is null and (status <> 'succeeded'
    or ${await notRevertedSql(context, batch)})`
  for (let from = { lane: '', seq: 0 }; ; ) {
    const { rows: page } = await sql<SentRow>`
      select status, ${outboxColumns}, ${sentSql} as sent from writebacks
       where project_id = ${context.project} and batch_id = ${batch} and ${isNew}
        and (lane, seq) > (${from.lane}, ${from.seq}) order by lane, seq
        limit ${sql.lit(rowsPerRead)}`.execute(context.db)
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
  lanes: readonly (readonly SentRow[])[],
): Promise<LaneToRevert[]> {
  const rows = lanes.map((lane) =>
    lane
      .toSorted((a, b) => a.sent - b.sent)
      .map(({ sent: _, ...row }) => toWriteback(context.kind, row)),
  )
  const firsts = rows.flatMap(([first]) => first ?? [])
  const mirrored = await readTargets(context, firsts)
  const targets = rows.flatMap((lane) => lane.map(({ target }) => target))
  const changes = await readChanges(context, [...new Set(targets)])
  return rows.map((lane, index) => {
    const target = mirrored[index] ?? null
    return {
      rows: lane,
      mirrored: target?.isDeleted === true ? null : target,
      changes: changes.get(lane[0]?.target ?? '') ?? [],
    }
  })
}

async function readChanges({ db, kind, project }: ProjectDb, ids: readonly string[]) {
  const { rows } = await sql<SeenFlagChange & { conversation: string }>`
    select conversation_id as conversation, seen_at as "seenAt", old_value as old,
    new_value as "new"
    from conversation_changes where project_id = ${project} and conversation_id ${inList(kind, ids)}
      and field = 'handled_at' order by id`.execute(db)
  return Map.groupBy(rows, ({ conversation }) => conversation)
}
