/** The workers of a warehouse: one row each, which shows by its heartbeat whether the worker is alive. */
import { type EpochMs, toTimestamp } from '../core/time.ts'
import type { Db } from './database/connection-pool.ts'
import { currentProcess, isProcessAlive } from './database/process-identity.ts'
import { heartbeatTimeoutMs, processLabel } from './mirror/stream-locks.ts'

export function createWorkers(db: Db) {
  return {
    /** `id`: of this worker. `queue`: redis, postgres or embedded. Also deletes stale rows. */
    recordHeartbeat: async (id: string, queue: string, now: EpochMs): Promise<void> => {
      await db
        .insertInto('sync_workers')
        .values({ id, ...currentProcess(), queue, since: toTimestamp(now), beat_at: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: now }))
        .execute()
      await db
        .deleteFrom('sync_workers')
        .where('beat_at', '<', now - 10 * heartbeatTimeoutMs)
        .execute()
    },
    remove: async (id: string): Promise<void> => {
      await db.deleteFrom('sync_workers').where('id', '=', id).execute()
    },
    listLive: (now: EpochMs) => listLiveWorkers(db, now),
  }
}

/** The workers that are alive, oldest first. */
export async function listLiveWorkers(db: Db, now: EpochMs) {
  const rows = await db.selectFrom('sync_workers').selectAll().orderBy('since').execute()
  const live = rows.filter((row) => isProcessAlive(row, currentProcess()) ?? now - row.beat_at < 2 * heartbeatTimeoutMs)
  return live.map((row) => ({
    holder: processLabel(row),
    queue: row.queue,
    since: row.since,
    heardAt: toTimestamp(row.beat_at),
  }))
}
