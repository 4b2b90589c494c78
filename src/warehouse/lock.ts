/** One sync a project at a time. The lock of a process that died is taken over: at once on its machine, else when it fell silent. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/portable.ts'
import { rfc3339 } from '../core/time.ts'
import { isAlive, type ProcessIdentity, thisProcess } from './process.ts'
import { closeDeadRuns } from './runs.ts'
import type { Db } from './session.ts'

/** How long a holder that cannot be looked at may be silent. It should call `beat` several times within. */
export const silenceMs = 60_000

export type Lock =
  | {
      readonly held: true
      /** A sign of life; false: the lock was lost to another process, and this one must stop. */
      readonly beat: (now: number) => Promise<boolean>
      readonly release: () => Promise<void>
    }
  /** `holder`: `process 4711 on desk-1`. `since`: RFC 3339. */
  | { readonly held: false; readonly holder: string; readonly since: string }

/** Runs left unfinished by the dead are closed. `own` stands for this process, unless a test says otherwise. */
export async function takeLock(
  db: Db,
  kind: DatabaseKind,
  project: string,
  now: number,
  own: ProcessIdentity = thisProcess(),
): Promise<Lock> {
  return db.transaction().execute(async (trx) => {
    if (kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtext(${`deskmirror.lock ${project}`}))`.execute(trx)
    const row = await trx.selectFrom('sync_locks').selectAll().where('project_id', '=', project).executeTakeFirst()
    if (row !== undefined && isHeld(row, own, now)) return { held: false, holder: nameOf(row), since: row.since }
    const token = randomUUID()
    const mine = { token, ...own, since: rfc3339(Math.floor(now / 1000)), beat_at: now }
    await trx
      .insertInto('sync_locks')
      .values({ project_id: project, ...mine })
      .onConflict((conflict) => conflict.column('project_id').doUpdateSet(mine))
      .execute()
    await closeDeadRuns(trx, project)
    return { held: true, ...holding(db, project, token) }
  })
}

function isHeld(row: ProcessIdentity & { beat_at: number }, own: ProcessIdentity, now: number): boolean {
  // A beat from the future is a clock that was put back: better to wait for a person than to sync twice.
  return isAlive(row, own) ?? now - row.beat_at < silenceMs
}

export function nameOf({ host, pid }: { host: string; pid: number }): string {
  return `process ${pid} on ${host}`
}

function holding(db: Db, project: string, token: string) {
  return {
    beat: async (now: number) => {
      const { numUpdatedRows } = await db
        .updateTable('sync_locks')
        .set({ beat_at: now })
        .where('project_id', '=', project)
        .where('token', '=', token)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
    release: async () => {
      await db.deleteFrom('sync_locks').where('project_id', '=', project).where('token', '=', token).execute()
    },
  }
}

/** Who syncs the project, if anybody does. */
export async function lockHolder(db: Db, project: string, now: number) {
  const row = await db.selectFrom('sync_locks').selectAll().where('project_id', '=', project).executeTakeFirst()
  return row !== undefined && isHeld(row, thisProcess(), now) ? { holder: nameOf(row), since: row.since } : null
}
