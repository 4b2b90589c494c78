/** Decisions about all sending of a project: one column each, in force at once, as nothing can be claimed or sent then. */
import { type RawBuilder, sql } from 'kysely'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import type { DecisionTerms } from '../core/decision-terms.ts'
import type { ProjectDecision } from '../core/decisions.ts'
import { appendEvent } from './audit-log.ts'
import { acquireCancellationLock } from './batch-decisions.ts'

/** Since when and by whom it is stopped; null: it is not. */
export async function readSendingStop({ db, project }: Pick<ProjectDb, 'db' | 'project'>) {
  const { rows } = await sql<{ since: string; by: string }>`
    select sending_stopped_at as since, sending_stopped_by as by from sync_projects
    where project_id = ${project} and sending_stopped_at is not null`.execute(db)
  const [stop] = rows
  return stop === undefined ? null : { ...stop, why: `${stop.by} stopped all sending` }
}

/** False: it is so already. Verifying what is in flight goes on. */
export function decideSending(
  context: ProjectDb,
  decision: ProjectDecision,
  { by, audit }: Pick<DecisionTerms, 'by' | 'audit'>,
): Promise<boolean> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project, typed } = trx
    // As for the stop of a batch: no send is being recorded meanwhile.
    await acquireCancellationLock(trx, 'exclusive')
    await sql`insert into sync_projects (project_id) values (${project}) on conflict do nothing`.execute(db)
    const now = toTimeValue(trx)
    const changes: Readonly<Record<ProjectDecision, readonly [set: RawBuilder<unknown>, where: RawBuilder<unknown>]>> =
      {
        stop_all: [
          sql`sending_stopped_at = ${now}, sending_stopped_by = ${typed('text', by)}`,
          sql`sending_stopped_at is null`,
        ],
        resume_all: [sql`sending_stopped_at = null, sending_stopped_by = null`, sql`sending_stopped_at is not null`],
        close_circuit: [sql`circuit_closed_at = ${now}`, sql`true`],
      }
    const [set, where] = changes[decision]
    const { numAffectedRows } = await sql`
      update sync_projects set ${set} where project_id = ${project} and ${where}`.execute(db)
    if (numAffectedRows === 0n) return false
    if (audit !== undefined) await appendEvent(db, audit(0), trx.clock())
    return true
  })
}
