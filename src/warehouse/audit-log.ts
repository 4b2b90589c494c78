/** The console's audit log, its one-time links and ended sessions, of the whole warehouse. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { AuditEvent, NewAuditEvent } from '../../schema/row.ts'
import { type EpochMs, type Ms, toTimestamp } from '../values/time.ts'
import type { Db } from './connection-pool.ts'
import { newId } from './project-db.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

export function createAuditLog(db: Db) {
  return {
    append: (event: NewAuditEvent, now: EpochMs) => appendEvent(db, event, now),
    /** The newest first, before this id if there is one. */
    list: (before: string | null, limit: number) => list(db, before, limit),
    /** A link with this code can be used once until then. */
    storeLink: async (code: string, validForMs: Ms, now: EpochMs): Promise<void> => {
      await sql`delete from console_links where expires_at < ${now}`.execute(db)
      await db
        .insertInto('console_links')
        .values({ code_hash: hashOf(code), expires_at: now + validForMs })
        .execute()
    },
    hasLink: async (code: string, now: EpochMs): Promise<boolean> => {
      const { rows } = await sql`
        select 1 from console_links where code_hash = ${hashOf(code)}
        and expires_at >= ${now}`.execute(db)
      return rows.length > 0
    },
    /** Whether the code was valid. It no longer is. */
    useLink: async (code: string, now: EpochMs): Promise<boolean> => {
      const { numAffectedRows } = await sql`
        delete from console_links where code_hash = ${hashOf(code)}
        and expires_at >= ${now}`.execute(db)
      return numAffectedRows === 1n
    },
    endSession: async (cookie: string, expiresAt: EpochMs, now: EpochMs): Promise<void> => {
      await sql`delete from console_ended_sessions where expires_at < ${now}`.execute(db)
      await db
        .insertInto('console_ended_sessions')
        .values({ session_hash: hashOf(cookie), expires_at: expiresAt })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },
    hasSessionEnded: async (cookie: string): Promise<boolean> => {
      const { rows } = await sql`
        select 1 from console_ended_sessions where session_hash = ${hashOf(cookie)}`.execute(db)
      return rows.length > 0
    },
  }
}

/** In the transaction of what it is about: neither is there without the other. */
export async function appendEvent(
  db: Db,
  { project, ...event }: NewAuditEvent,
  now: EpochMs,
): Promise<void> {
  const row = { project_id: project, id: newId(now), at: toTimestamp(now), ...event }
  await db.insertInto('console_events').values(row).execute()
}

async function list(db: Db, before: string | null, limit: number): Promise<readonly AuditEvent[]> {
  const { rows } = await sql<AuditEvent>`
    select id, at, project_id as project, person, role, action, subject, count, detail
    from console_events
    where ${before === null ? sql`true` : sql`id < ${before}`}
    order by id desc limit ${limit}`.execute(db)
  return rows
}

/** Who can read the warehouse must not be able to sign in with what is there. */
function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}
