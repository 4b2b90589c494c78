/**
 * Whether a project may send: people stop and resume it, in force at once; and it is held if the
 * database went back in time: the number of sends that is kept outside of it is then larger.
 */
import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { appendEvent } from '../../warehouse/audit-log.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { countRowsOf, epochSeconds, readClock } from '../../warehouse/dialect.ts'
import { ofProject, type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import type { DecisionTerms } from '../core/decision-terms.ts'
import type { ProjectDecision } from '../core/decisions.ts'
import type { Transition } from '../core/outbox-entry.ts'
import { acquireCancellationLock } from './batch-decisions.ts'
import { decidedSql, decodeEvidence, takeClaimSql } from './row.ts'

/** Since when and by whom it is stopped; null: it is not. */
export async function readSendingStop({ db, project }: Pick<ProjectDb, 'db' | 'project'>) {
  const { rows } = await sql<{ since: string; by: string }>`
    select sending_stopped_at as since, sending_stopped_by as by from sync_projects
    where project_id = ${project} and sending_stopped_at is not null`.execute(db)
  const [stop] = rows
  return stop === undefined ? null : { ...stop, why: `${stop.by} stopped all sending` }
}

/** Write-backs that were inserted by plain SQL and name no project, so no worker sends them. */
export function countWithoutProject({ db }: Pick<ProjectDb, 'db'>): Promise<number> {
  return countRowsOf(db, sql`writebacks where project_id = '' and status in ('draft','queued')`)
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
    await sql`insert into sync_projects (project_id) values (${project})
      on conflict do nothing`.execute(db)
    const now = toTimeValue(trx)
    const changes: Readonly<
      Record<ProjectDecision, readonly [set: RawBuilder<unknown>, where: RawBuilder<unknown>]>
    > = {
      stop_all: [
        sql`sending_stopped_at = ${now}, sending_stopped_by = ${typed('text', by)}`,
        sql`sending_stopped_at is null`,
      ],
      resume_all: [
        sql`sending_stopped_at = null, sending_stopped_by = null`,
        sql`sending_stopped_at is not null`,
      ],
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

export function createSends(context: ProjectDb) {
  return ofProject(context, { read: readSends, hold, countRepetitions, resume })
}

/** `key`: names the number outside. `isNew`: it has never sent, and no person has let it go on. */
export async function readSends({ db, project }: Pick<ProjectDb, 'db' | 'project'>) {
  const { rows } = await sql<{
    key: string
    sends: number
    heldAt: EpochMs | null
    why: string | null
    resumedAt: EpochMs | null
  }>`
    select coalesce(own.token, common.token) as key, coalesce(own.sends, 0) as sends,
    own.held_at as "heldAt",
      own.held_why as why, own.resumed_at as "resumedAt"
    from sync_sends common left join sync_sends own on own.project_id = ${project}
    where common.project_id = ''`.execute(db)
  const { key = '', sends = 0, heldAt = null, why = null, resumedAt = null } = rows[0] ?? {}
  const held = heldAt === null ? null : { since: toTimestamp(heldAt), why: why ?? '' }
  return { key: `${key}:${project}`, sends, held, isNew: sends === 0 && resumedAt === null }
}

/** In the transaction that records the send, so that a backup has both or neither. */
export async function countSend({ db, project }: ProjectDb): Promise<void> {
  await sql`insert into sync_sends (project_id, token, sends) select ${project}, token, 1
    from sync_sends where project_id = ''
    on conflict (project_id) do update set sends = sync_sends.sends + 1`.execute(db)
}

async function hold({ db, kind, project, typed }: ProjectDb, why: string): Promise<void> {
  const clock = await readClock(db, kind)
  const at = typed('integer', clock())
  await sql`insert into sync_sends (project_id, token, sends, held_at, held_why)
    select ${project}, token, 0, ${at}, ${typed('text', why)} from sync_sends where project_id = ''
    on conflict (project_id) do update set held_at = coalesce(sync_sends.held_at, excluded.held_at),
      held_why = excluded.held_why`.execute(db)
}

const repetitionsWithinMs = 15 * 60_000

/** Replies found in their conversations of late before they were sent, not seen by a person yet. */
async function countRepetitions(context: ProjectDb, { evidence }: Transition): Promise<number> {
  if (evidence?.alreadyThere === undefined) return 0
  const { db, kind, project } = context
  const clock = await readClock(db, kind)
  const since = toTimeValue(context, clock() - repetitionsWithinMs)
  const { rows } = await sql<{ evidence: string | null }>`select evidence from writebacks
    where project_id = ${project} and operation = 'message' and status = 'conflict' and attempts = 0
      and finished_at > ${since}
      and not exists (select 1 from sync_sends where project_id = ${project}
        and ${epochSeconds(kind, 'writebacks.created_at')} * 1000 <= resumed_at)`.execute(db)
  return rows.filter((row) => decodeEvidence(kind, row.evidence).alreadyThere !== undefined).length
}

/** Returns how many queued write-backs became drafts; null if sending is not held. */
function resume(
  context: ProjectDb,
  by: string,
  queued: 'draft' | 'send',
): Promise<{ readonly drafts: number } | null> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project } = trx
    // As for a stop: no send is being recorded meanwhile.
    await acquireCancellationLock(trx, 'exclusive')
    // The old token would be behind forever.
    const { numAffectedRows: resumed } = await sql`
      update sync_sends set token = ${randomUUID()}, sends = 0, held_at = null, held_why = null,
        resumed_at = ${trx.typed('integer', trx.clock())}
      where project_id = ${project} and held_at is not null`.execute(db)
    if (resumed === 0n) return null
    if (queued === 'send') return { drafts: 0 }
    const { numAffectedRows } = await sql`
      update writebacks set status = 'draft', reason = ${`back to draft after a restore by ${by}`},
        ${takeClaimSql}, due_at = null, approved_by = null,
        undo_until = null, ${decidedSql(trx, by)}
      where project_id = ${project} and status = 'queued'`.execute(db)
    return { drafts: Number(numAffectedRows ?? 0n) }
  })
}

/** Why sending is held, by the project's id. */
export async function listHeld(db: Db): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('sync_sends')
    .select(['project_id', 'held_why'])
    .where('held_at', 'is not', null)
    .execute()
  return new Map(rows.map(({ project_id, held_why }) => [project_id, held_why ?? '']))
}
