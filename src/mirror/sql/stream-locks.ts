/**
 * One sync of a stream at a time. The lock of a dead process is taken over: at once where it can be
 * seen that it is dead, else when its heartbeats have stopped for a while.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { DatabaseSchema } from '../../../schema/tables.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock } from '../../warehouse/dialect.ts'
import {
  currentProcess,
  isHolderAlive,
  isProcessAlive,
  type ProcessIdentity,
  processLabel,
} from '../../warehouse/process-identity.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { failAbandonedRuns } from './sync-runs.ts'

export type LockResult = Awaited<ReturnType<typeof acquireAs>>

/** All of the streams, or none. Closes unfinished runs of dead processes. */
export function acquireStreamLocks(
  context: ProjectDb,
  streams: readonly string[],
  now: EpochMs = Date.now(),
): Promise<LockResult> {
  return context.retry.run(() => acquireOnce(context, streams, now))
}

async function acquireOnce(context: ProjectDb, streams: readonly string[], now: EpochMs) {
  const token = randomUUID()
  // Before the row exists: others in this process would take the lock for one not released.
  ownTokens.add(token)
  let isAcquired = false
  try {
    const lock = await acquireAs(context, token, streams, now)
    isAcquired = lock.held
    return lock
  } finally {
    if (!isAcquired) ownTokens.delete(token)
  }
}

type StoredLock = ProcessIdentity &
  Pick<DatabaseSchema['sync_locks'], 'token' | 'stream' | 'since' | 'beat_at'>

function acquireAs(
  { db, kind, project, retry }: ProjectDb,
  token: string,
  streams: readonly string[],
  now: EpochMs,
) {
  const own = currentProcess()
  return db.transaction().execute(async (trx) => {
    await acquireLock(trx, kind, `deskmirror.lock ${project}`)
    const { rows } = await sql<StoredLock>`
      select * from sync_locks where project_id = ${project} and stream in
      (${sql.join(streams)})`.execute(trx)
    const blocking = rows.find((row) => isHeld(row, own, now))
    if (blocking !== undefined) {
      const { stream, since } = blocking
      /** `isAlive`: null if only its heartbeats can tell. `since`: RFC 3339. */
      const holder = {
        holder: processLabel(blocking),
        isAlive: isProcessAlive(blocking, own),
        since,
      }
      return { held: false as const, stream, ...holder }
    }
    const claim = { token, ...own, since: toTimestamp(now), beat_at: now }
    await trx
      .insertInto('sync_locks')
      .values(streams.map((stream) => ({ project_id: project, stream, ...claim })))
      .onConflict((conflict) => conflict.columns(['project_id', 'stream']).doUpdateSet(claim))
      .execute()
    await failAbandonedRuns(trx, project)
    return {
      held: true as const,
      /** Identifies the lock in `sync_runs`. */
      token,
      /** False: another process has taken over one of the streams, so this one must stop. */
      heartbeat: async (at: EpochMs): Promise<boolean> => {
        if (retry.isWarehouseAway()) return true
        const { numAffectedRows } = await sql`
          update sync_locks set beat_at = ${at} where project_id = ${project}
          and token = ${token}`.execute(db)
        return numAffectedRows === BigInt(streams.length)
      },
      release: async (): Promise<void> => {
        ownTokens.delete(token)
        const ofLock = sql`delete from sync_locks where project_id = ${project}
          and token = ${token}`
        await retry.run(() => ofLock.execute(db))
      },
    }
  })
}

/**
 * The locks of this process, which knows them without heartbeats. Another row of this process could
 * not be deleted on release (a full disk): it counts as free, or it would be held for ever.
 */
const ownTokens = new Set<string>()

function isHeld(row: StoredLock, own: ProcessIdentity, now: number): boolean {
  const isOwn = row.host === own.host && row.pid === own.pid && row.process === own.process
  if (isOwn) return ownTokens.has(row.token)
  // A heartbeat from the future: waiting for a person is better than syncing twice.
  return isHolderAlive(row, own, now)
}

/** The process that has been syncing the project for longest; null if none is. */
export async function findLockHolder(db: Db, project: ProjectId, now: number) {
  const { rows } = await sql<StoredLock>`
    select * from sync_locks where project_id = ${project} order by since, stream`.execute(db)
  const lock = rows.find((row) => isHeld(row, currentProcess(), now))
  return lock === undefined ? null : { holder: processLabel(lock), since: lock.since }
}
