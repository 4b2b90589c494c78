/**
 * How the streams of a project are doing, asked so that a million rows are never touched, and the
 * fields found in them.
 */
import { sql } from 'kysely'
import {
  dayColumn,
  isChildStream,
  isPagedStream,
  type StreamName,
  streamNames,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import type { GapReport } from '../../mirror/mirror.ts'
import { readNewest } from '../../mirror/sql/mirror-state.ts'
import { countPendingParents } from '../../mirror/sql/pending-children.ts'
import { countMirrored, readRowCounts } from '../../mirror/sql/row-counts.ts'
import type { EpochMs } from '../../values/time.ts'
import { currentProcess, isHolderAlive } from '../../warehouse/process-identity.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/**
 * `selected`: the streams that the project mirrors. `due`: parents whose children are still to be
 * read.
 */
export async function readStreams(
  context: ProjectDb,
  selected: readonly StreamName[],
  now: EpochMs,
) {
  const { db, project } = context
  const locks = await db
    .selectFrom('sync_locks')
    .selectAll()
    .where('project_id', '=', project)
    .execute()
  const own = currentProcess()
  const counts = await readRowCounts(context)
  const found = streamNames
    .filter((name) => selected.includes(name))
    .map(async (stream) => ({
      stream,
      rows: (await countMirrored(context, stream, counts.get(stream))).rows,
      isRunning: locks.some((lock) => lock.stream === stream && isHolderAlive(lock, own, now)),
      // By a column with an index.
      newest: await readNewest(context, stream, dayColumn(stream)),
      due: isChildStream(stream) ? await countPendingParents(context, stream, now) : 0,
    }))
  return Promise.all(found)
}

/** Gaps, and reasons. */
export const maxListed = 200

/** Gaps, the open ones first and then the newest; of one stream, or the open ones of all. */
export async function readGaps({ db, project }: ProjectDb, stream: StreamName | null) {
  const { rows } = await sql<GapReport & { readonly resolvedAt: string | null }>`
    select stream, from_ts as "from", to_ts as "to", reason, found_at as "foundAt", resolved_at
    as "resolvedAt"
    from sync_gaps where project_id = ${project} and
    ${stream === null ? sql`resolved_at is null` : sql`stream = ${stream}`}
    order by case when resolved_at is null then 0 else 1 end, id desc limit ${maxListed}`.execute(
    db,
  )
  return rows
}

/**
 * Parents whose children cannot be read, grouped by the error, the most frequent first; of one
 * stream or of all.
 */
export async function readFailingParents({ db, project }: ProjectDb, stream: StreamName | null) {
  const { rows } = await sql<{ reason: string; count: number; example: string }>`
    select error as reason, count(*) as count, min(parent_id) as example from sync_children
    where project_id = ${project} and error is not null and
    ${stream === null ? sql`true` : sql`stream = ${stream}`}
    group by error order by count(*) desc, error limit ${maxListed}`.execute(db)
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

/** The newest rows in which the fields of a stream are counted. */
export const sampledRows = 1000
export const maxFields = 500

/**
 * The undocumented fields, the newest first. `filled`: the share of the newest rows that have it;
 * null = it has no column.
 */
export async function readFields(context: ProjectDb) {
  const { rows } = await sql<
    Record<'path' | 'type' | 'firstSeen', string> & { stream: StreamName; column: string | null }
  >`
    select stream, path, column_name as "column", type, first_seen_at as "firstSeen"
    from discovered_fields
    where project_id = ${context.project} order by first_seen_at desc, stream, path limit
    ${maxFields}`.execute(context.db)
  const filled = new Map<string, number>()
  for (const [stream, fields] of Map.groupBy(rows, (row) => row.stream)) {
    const columns = fields.flatMap(({ column }) => column ?? [])
    for (const [column, share] of await readShares(context, stream, columns))
      filled.set(`${stream} ${column}`, share)
  }
  return rows.map((row) => ({ ...row, filled: filled.get(`${row.stream} ${row.column}`) ?? null }))
}

/** The share of the newest rows that have each column; of streams without a time, of some rows. */
async function readShares(
  { db, project }: ProjectDb,
  stream: StreamName,
  columns: readonly string[],
) {
  if (columns.length === 0) return []
  const { table } = streamSpecs[stream]
  const column = isPagedStream(stream) ? streamSpecs[stream].startColumn : null
  const order = column === null ? sql`` : sql`order by ${sql.ref(column)} desc`
  const counts = columns.map((name, n) => sql`count(${sql.ref(name)}) as ${sql.ref(`n${n}`)}`)
  const { rows } = await sql<Record<string, number>>`
    select count(*) as total, ${sql.join(counts)}
    from (select * from ${sql.table(table)} where project_id = ${project} ${order} limit
    ${sampledRows}) as newest`.execute(db)
  const total = Number(rows[0]?.total ?? 0)
  return columns.map(
    (name, n) => [name, total === 0 ? 0 : Number(rows[0]?.[`n${n}`] ?? 0) / total] as const,
  )
}
