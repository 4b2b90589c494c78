/** How the streams of a project are doing, asked so that a million rows are never touched. */
import { sql } from 'kysely'
import {
  isChildStream,
  isPagedStream,
  type StreamName,
  streamNames,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import { failedStream } from '../../maintenance/core/job-failure.ts'
import { listFailures } from '../../maintenance/sql/job-failures.ts'
import { countPendingParents } from '../../mirror/sql/pending-children.ts'
import { heartbeatTimeoutMs } from '../../mirror/sql/stream-locks.ts'
import { hasDeletedAt } from '../../mirror/sql/stream-tables.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { FailingParents, StreamData, StreamFacts, StreamRow } from '../core/data.ts'

type StoredStream = StreamFacts & Pick<StreamRow, 'newest' | 'due'>

/** `selected`: the streams that the project mirrors. */
export async function readStoredStreams(
  context: ProjectDb,
  selected: readonly StreamName[],
  now: EpochMs,
): Promise<readonly StoredStream[]> {
  const { db, project } = context
  const states = await db.selectFrom('sync_streams').selectAll().where('project_id', '=', project).execute()
  const locks = await db.selectFrom('sync_locks').selectAll().where('project_id', '=', project).execute()
  const failures = await listFailures(db, project)
  const found: StoredStream[] = []
  for (const stream of streamNames.filter((name) => selected.includes(name))) {
    const state = states.find((row) => row.stream === stream)
    const failure = failures.find((it) => failedStream(it) === stream)
    found.push({
      stream,
      syncedAt: state?.synced_at ?? null,
      skipped: state?.skipped ?? null,
      failed: state?.failed ?? failure?.reason ?? null,
      failedSince: state?.failed_since ?? (failure === undefined ? null : toTimestamp(failure.since)),
      isRunning: locks.some((lock) => lock.stream === stream && now - lock.beat_at < heartbeatTimeoutMs),
      newest: await readNewest(context, stream),
      due: isChildStream(stream) ? await countPendingParents(context, stream, now) : 0,
    })
  }
  return found
}

/** By an index; null if no column with one says it. */
async function readNewest({ db, project }: ProjectDb, stream: StreamName): Promise<string | null> {
  const { table, timeColumn } = streamSpecs[stream]
  const column = isPagedStream(stream) ? streamSpecs[stream].startColumn : timeColumn
  if (column === null || stream === 'call_recordings') return null
  const { rows } = await sql<{ newest: string | null }>`
    select max(${sql.ref(column)}) as newest from ${sql.table(table)} where project_id = ${project}`.execute(db)
  return rows[0]?.newest ?? null
}

/** Takes a tenth of a second for a million rows, so pages show a remembered number. */
export async function countStreamRows({ db, project }: ProjectDb, stream: StreamName): Promise<number> {
  const { table } = streamSpecs[stream]
  const deleted = hasDeletedAt(table)
    ? sql`(select count(*) from ${sql.table(table)} where project_id = ${project} and deleted_at is not null)`
    : sql`0`
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from ${sql.table(table)} where project_id = ${project}) - ${deleted} as count`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

const maxListed = 200

/** Gaps, the open ones first and then the newest; of one stream or of all. */
export async function readGaps({ db, project }: ProjectDb, stream: StreamName | null): Promise<StreamData['gaps']> {
  const { rows } = await sql<StreamData['gaps'][number]>`
    select stream, from_ts as "from", to_ts as "to", reason, found_at as "foundAt", resolved_at as "resolvedAt"
    from sync_gaps where project_id = ${project} and ${stream === null ? sql`resolved_at is null` : sql`stream = ${stream}`}
    order by case when resolved_at is null then 0 else 1 end, id desc limit ${maxListed}`.execute(db)
  return rows
}

/** Parents whose children cannot be read, grouped by the error, the most frequent first. */
export async function readFailingParents(
  { db, project }: ProjectDb,
  stream: StreamName | null,
): Promise<readonly FailingParents[]> {
  const { rows } = await sql<FailingParents>`
    select error as reason, count(*) as count, min(parent_id) as example from sync_children
    where project_id = ${project} and error is not null and ${stream === null ? sql`true` : sql`stream = ${stream}`}
    group by error order by count(*) desc, error limit ${maxListed}`.execute(db)
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}
