/** Sync runs for the console. */
import { sql } from 'kysely'
import type { RunData, RunRow, RunStream } from '../../core/console/data.ts'
import type { ProjectDb } from '../database/project-db.ts'

const columns = sql`id, mode, started_at as "startedAt", finished_at as "finishedAt", outcome, requests,
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

/** Null: there is no such run. */
export async function readRun({ db, project }: ProjectDb, id: string): Promise<RunData | null> {
  const { rows } = await sql<RunRow & { streams: string | null }>`
    select ${columns}, streams from sync_runs where project_id = ${project} and id = ${id}`.execute(db)
  const [run] = rows
  if (run === undefined) return null
  return { ...run, streams: (JSON.parse(run.streams ?? '[]') as RunStream[]) ?? [] }
}
