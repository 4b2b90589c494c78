/** The sync runs of a project. */
import { sql } from 'kysely'
import type { StatusReport } from '../../maintenance/maintenance.ts'
import type { Ms } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/** As `status` shows the last one, with its rows. */
export type RunRow = NonNullable<StatusReport['lastRun']> & {
  readonly rows: number
  readonly changed: number
}

const columns = sql`id, mode, started_at as "startedAt", finished_at
  as "finishedAt", outcome, requests,
  rows_read as "rows", rows_changed as "changed"`

/** The newest first, before the run of this id. */
export async function listRuns(
  { db, project }: ProjectDb,
  outcome: string | null,
  before: string | null,
  limit: number,
): Promise<readonly RunRow[]> {
  const { rows } = await sql<RunRow>`
    select ${columns} from sync_runs where project_id = ${project}
      and ${outcome === null ? sql`true` : sql`outcome = ${outcome}`}
      and ${before === null ? sql`true` : sql`id < ${before}`}
    order by id desc limit ${limit}`.execute(db)
  return rows
}

type RunStream = Pick<RunRow, 'requests' | 'rows' | 'changed'> & {
  readonly stream: string
  readonly tookMs: Ms
  readonly skipped: string | null
  readonly failed: string | null
}

/** Null: there is no such run. */
export async function readRun({ db, project }: ProjectDb, id: string) {
  const { rows } = await sql<RunRow & { streams: string | null }>`
    select ${columns}, streams from sync_runs where project_id = ${project} and id = ${id}`.execute(
    db,
  )
  const [run] = rows
  return run === undefined
    ? null
    : { ...run, streams: JSON.parse(run.streams ?? '[]') as readonly RunStream[] }
}
