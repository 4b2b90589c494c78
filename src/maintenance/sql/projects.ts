/** The state of whole projects: pauses, lost request budgets, write-backs to send. */
import { sql } from 'kysely'
import type { DatabaseSchema } from '../../../schema/tables.ts'
import { readSendingStop, readSends } from '../../outbox/sql/sending.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { describeMove, findMove, readMoves } from '../../warehouse/moves.ts'

/** `keyFingerprint`: of the key that the service denied. Null ends the pause. */
export function setPause(
  db: Db,
  project: ProjectId,
  pause: { readonly until: EpochMs; readonly keyFingerprint: string; readonly why: string } | null,
): Promise<void> {
  const { until = null, keyFingerprint = null, why = null } = pause ?? {}
  return updateProject(db, project, {
    paused_until: until,
    paused_key: keyFingerprint,
    paused_why: why,
  })
}

export async function readPause(db: Db, project: ProjectId) {
  const row = await readProject(db, project)
  if (row?.paused_until == null) return null
  return {
    until: row.paused_until,
    keyFingerprint: row.paused_key ?? '',
    why: row.paused_why ?? '',
  }
}

export async function listPaused(db: Db, now: EpochMs): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select project_id as id from sync_projects where paused_until > ${now}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

export function recordBudgetLoss(
  db: Db,
  project: ProjectId,
  why: string,
  at: EpochMs,
): Promise<void> {
  return updateProject(db, project, { budget_lost_at: at, budget_lost_why: why })
}

/** Write-backs that are not settled, or a cancellation that has not reached all of its own. */
export async function listWithWritebacks(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ project: ProjectId }>`
    select distinct project_id as project from writebacks where status in ('queued','sending')
    union select project_id from writeback_cancellations where finished_at is null
    union select project_id from writeback_batches where done_to is not null`.execute(db)
  return new Set(rows.map((row) => row.project))
}

function readProject(db: Db, project: ProjectId) {
  return db
    .selectFrom('sync_projects')
    .selectAll()
    .where('project_id', '=', project)
    .executeTakeFirst()
}

async function updateProject(
  db: Db,
  project: ProjectId,
  state: Partial<DatabaseSchema['sync_projects']>,
) {
  await db
    .insertInto('sync_projects')
    .values({ project_id: project, ...state })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(state))
    .execute()
}

export async function readProjectIncidents(db: Db, project: ProjectId, now: EpochMs) {
  const row = await readProject(db, project)
  const until = row?.paused_until ?? 0
  const move = findMove(await readMoves(db), project)
  const lostAt = row?.budget_lost_at ?? null
  const [stop, { held }] = [
    await readSendingStop({ db, project }),
    await readSends({ db, project }),
  ]
  return {
    paused: until > now ? { until: toTimestamp(until), why: row?.paused_why ?? '' } : null,
    /**
     * Nothing is sent until a person has decided: the warehouse went back in time, or a person
     * stopped it. `resumeBy`: the option of `writeback resume` that ends this.
     */
    held:
      held !== null ? { ...held, resumeBy: '--restored' } : stop && { ...stop, resumeBy: '--all' },
    lost: lostAt === null ? null : { at: toTimestamp(lostAt), why: row?.budget_lost_why ?? '' },
    moved: move === undefined ? null : describeMove(move),
  }
}

/** The projects that anything has been read of; `timeZone` null: they have no facts yet. */
export async function listMirroredProjects(
  db: Db,
): Promise<readonly { id: string; timeZone: string | null }[]> {
  const { rows } = await sql<{ id: string; timeZone: string | null }>`
    select found.project_id as id, nullif(facts_state.time_zone, '') as "timeZone"
    from (select distinct project_id from sync_streams) as found
      left join facts_state on facts_state.project_id = found.project_id
    order by 1`.execute(db)
  return rows
}
