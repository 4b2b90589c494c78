/** The workers of a warehouse: one row each, which shows by its heartbeat whether the worker is alive. */

import { heartbeatTimeoutMs, processLabel } from '../../mirror/sql/stream-locks.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { currentProcess, isProcessAlive } from '../../warehouse/process-identity.ts'

export function createWorkers(db: Db) {
  return {
    /** `id`: of this worker. `configuration`: digest of its projects and schedules. Also deletes stale rows. */
    recordHeartbeat: async ({ id, queue, configuration }: WorkerRecord, now: EpochMs): Promise<void> => {
      await db
        .insertInto('sync_workers')
        .values({ id, ...currentProcess(), queue, since: toTimestamp(now), beat_at: now, configuration })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ beat_at: now, configuration }))
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
    /** Whether the live workers have different projects or schedules. */
    differ: async (now: EpochMs): Promise<boolean> =>
      new Set((await readLiveRows(db, now)).flatMap(({ configuration }) => configuration ?? [])).size > 1,
  }
}

type WorkerRecord = {
  readonly id: string
  /** redis, postgres or embedded. */
  readonly queue: string
  readonly configuration: string
}

/** The workers that are alive, oldest first. */
export async function listLiveWorkers(db: Db, now: EpochMs) {
  return (await readLiveRows(db, now)).map((row) => ({
    holder: processLabel(row),
    queue: row.queue,
    since: row.since,
    heardAt: toTimestamp(row.beat_at),
  }))
}

async function readLiveRows(db: Db, now: EpochMs) {
  const rows = await db.selectFrom('sync_workers').selectAll().orderBy('since').execute()
  return rows.filter((row) => isProcessAlive(row, currentProcess()) ?? now - row.beat_at < 2 * heartbeatTimeoutMs)
}
