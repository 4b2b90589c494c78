/** Audits: what they drew and found. */
import { sql } from 'kysely'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { encodeJson } from '../../warehouse/escape.ts'
import { newId, ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import type { AuditedStream, AuditResult, SeenDifference } from '../core/audit.ts'

export type AuditStore = ReturnType<typeof createAuditStore>

export function createAuditStore(context: ProjectDb) {
  return ofProject(context, { listIds, add, listDifferences, listFinished: listFinishedAudits })
}

/** Ids of rows after one, in order, those marked as deleted included. */
async function listIds(
  { db, project }: ProjectDb,
  stream: AuditedStream,
  after: string | null,
  limit: number,
) {
  const from = after === null ? sql`` : sql`and id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${project} ${from} order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** As many as a person looks at. */
const maxDifferences = 1000

/** `now`: when the audit ended. */
async function add(
  { db, kind, project, retry, typed }: ProjectDb,
  audit: Omit<AuditResult, 'id' | 'finishedAt'>,
  differences: readonly SeenDifference[],
  now: EpochMs,
): Promise<AuditResult> {
  const result = { id: newId(now), finishedAt: toTimestamp(now), ...audit }
  const { id, stream, startedAt, finishedAt, tookMs, ...counts } = result
  const kept = differences.slice(0, maxDifferences)
  const json = kept.length === 0 ? null : encodeJson(kind, JSON.stringify(kept))
  const insert = db
    .insertInto('sync_audits')
    .values({
      project_id: project,
      id,
      stream,
      started_at: startedAt,
      finished_at: finishedAt,
      ...counts,
      took_ms: tookMs,
      differences: typed('json', json),
    })
    .onConflict((conflict) => conflict.doNothing())
  await retry.run(() => insert.execute())
  return result
}

/** What audits of the stream have found, the latest first. */
async function listDifferences({ db, project }: ProjectDb, stream: AuditedStream, limit: number) {
  // SQLite returns the text, Postgres the value.
  const { rows } = await sql<{ differences: string | readonly SeenDifference[] }>`
    select differences from sync_audits
    where project_id = ${project} and stream = ${stream} and differences is not null
    order by id desc limit ${limit}`.execute(db)
  const all = rows.map(({ differences: stored }): readonly SeenDifference[] =>
    typeof stored === 'string' ? JSON.parse(stored) : stored,
  )
  return all.flat().slice(0, limit)
}

/** Of all streams, oldest first. */
export async function listFinishedAudits(
  { db, project }: ProjectDb,
  since: EpochMs,
): Promise<readonly AuditResult[]> {
  const { rows } = await sql<AuditResult>`
    select id, stream, started_at as "startedAt", finished_at
    as "finishedAt", population, drawn, compared, differing,
      corrected, gone, unreadable, requests, took_ms as "tookMs"
    from sync_audits where project_id = ${project} and finished_at >= ${toTimestamp(since)}
    order by id`.execute(db)
  return rows
}
