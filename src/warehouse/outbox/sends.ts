/**
 * How often the project has sent, and whether sending is held because the database went back in time: then the number that
 * is kept outside of it is larger.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { inDurableTransaction } from '../database/durable-transaction.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { acquireCancellationLock } from './cancellations.ts'
import { decidedSql } from './row.ts'

/** `key`: names the number outside of the database. */
export type SendState = { readonly key: string; readonly sends: number; readonly held: SendingHold | null }
/** `since`: RFC 3339. */
export type SendingHold = { readonly since: string; readonly why: string }

export function createSends(context: ProjectDb) {
  return {
    read: () => readSends(context.db, context.project),
    hold: (why: string, now: EpochMs) => hold(context, why, now),
    /** Returns how many queued write-backs became drafts; null if sending is not held. */
    resume: (by: string, queued: 'draft' | 'send') => resume(context, by, queued),
  }
}

export async function readSends(db: Db, project: string): Promise<SendState> {
  const { rows } = await sql<{ token: string; sends: number; heldAt: EpochMs | null; why: string | null }>`
    select coalesce(own.token, common.token) as token, coalesce(own.sends, 0) as sends, own.held_at as "heldAt",
      own.held_why as why
    from sync_sends common left join sync_sends own on own.project_id = ${project} where common.project_id = ''`.execute(
    db,
  )
  const { token = '', sends = 0, heldAt = null, why = null } = rows[0] ?? {}
  const held = heldAt === null ? null : { since: toTimestamp(heldAt), why: why ?? '' }
  return { key: `${token}:${project}`, sends, held }
}

/** In the transaction that records the send, so that a backup has both or neither. */
export async function countSend({ db, project }: ProjectDb): Promise<void> {
  await sql`insert into sync_sends (project_id, token, sends) select ${project}, token, 1 from sync_sends where project_id = ''
    on conflict (project_id) do update set sends = sync_sends.sends + 1`.execute(db)
}

async function hold({ db, project, typed }: ProjectDb, why: string, now: EpochMs): Promise<void> {
  const at = typed('integer', now)
  await sql`insert into sync_sends (project_id, token, sends, held_at, held_why)
    select ${project}, token, 0, ${at}, ${typed('text', why)} from sync_sends where project_id = ''
    on conflict (project_id) do update set held_at = coalesce(sync_sends.held_at, excluded.held_at),
      held_why = excluded.held_why`.execute(db)
}

function resume(context: ProjectDb, by: string, queued: 'draft' | 'send'): Promise<{ readonly drafts: number } | null> {
  return inDurableTransaction(context, async (trx) => {
    const { db, project } = trx
    // As for a stop: no send is being recorded meanwhile.
    await acquireCancellationLock(trx, 'exclusive')
    // The old token would be behind forever.
    const { numAffectedRows: resumed } = await sql`
      update sync_sends set token = ${randomUUID()}, held_at = null, held_why = null
      where project_id = ${project} and held_at is not null`.execute(db)
    if (resumed === 0n) return null
    if (queued === 'send') return { drafts: 0 }
    const { numAffectedRows } = await sql`
      update writebacks set status = 'draft', step = ${`back to draft after a restore by ${by}`}, epoch = epoch + 1,
        owner = null, lease_until = null, due_at = null, approved_by = null, undo_until = null, ${decidedSql(trx, by)}
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
