/** One pass over a stream at a time. The lock of a process that died is taken over: at once on its machine, else when it fell silent. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { toTimestamp } from '../../core/time.ts'
import { isProcessAlive, type ProcessIdentity, currentProcess } from '../database/process-identity.ts'
import type { Db } from '../database/connection-pool.ts'
import { failAbandonedRuns } from './sync-runs.ts'

/** How long a holder that cannot be looked at may be silent. It should call `beat` several times within. */
export const heartbeatTimeoutMs = 60_000

export type LockResult =
  | {
      readonly held: true
      /** Names the holding in `sync_runs`. */
      readonly token: string
      /** A sign of life; false: a stream was lost to another process, and this one must stop. */
      readonly heartbeat: (now: number) => Promise<boolean>
      readonly release: () => Promise<void>
    }
  /** `holder`: `process 4711 on desk-1`. `since`: RFC 3339. */
  | { readonly held: false; readonly stream: string; readonly holder: string; readonly since: string }

/** All of the streams, or none. Runs left unfinished by the dead are closed. `own`: this process, unless a test says otherwise. */
export async function acquireStreamLocks(
  db: Db,
  kind: DatabaseKind,
  project: string,
  streams: readonly string[],
  now: number,
  own: ProcessIdentity = currentProcess(),
): Promise<LockResult> {
  const token = randomUUID()
  // Before it is seen by others of this process.
  ownTokens.add(token)
  let isAcquired = false
  try {
    const lock = await acquireAs(token, db, kind, project, streams, now, own)
    isAcquired = lock.held
    return lock
  } finally {
    if (!isAcquired) ownTokens.delete(token)
  }
}

function acquireAs(
  token: string,
  db: Db,
  kind: DatabaseKind,
  project: string,
  streams: readonly string[],
  now: number,
  own: ProcessIdentity,
): Promise<LockResult> {
  return db.transaction().execute(async (trx): Promise<LockResult> => {
    if (kind === 'postgres')
      await sql`select pg_advisory_xact_lock(hashtext(${`deskmirror.lock ${project}`}))`.execute(trx)
    const rows = await trx
      .selectFrom('sync_locks')
      .selectAll()
      .where('project_id', '=', project)
      .where('stream', 'in', streams)
      .execute()
    const blocking = rows.find((row) => isHeld(row, own, now))
    if (blocking !== undefined) return { held: false, stream: blocking.stream, holder: processLabel(blocking), since: blocking.since }
    const claim = { token, ...own, since: toTimestamp(now), beat_at: now }
    await trx
      .insertInto('sync_locks')
      .values(streams.map((stream) => ({ project_id: project, stream, ...claim })))
      .onConflict((conflict) => conflict.columns(['project_id', 'stream']).doUpdateSet(claim))
      .execute()
    await failAbandonedRuns(trx, project)
    return { held: true, ...createLockHandle(db, project, token, streams.length) }
  })
}

/**
 * The holdings of this process. One that it could not give back, as the disk was full just then, is nobody's: the process
 * lives, and would hold it for ever.
 */
const ownTokens = new Set<string>()

function isHeld(row: ProcessIdentity & { token: string; beat_at: number }, own: ProcessIdentity, now: number): boolean {
  if (isSameProcess(row, own) && !ownTokens.has(row.token)) return false
  // A beat from the future is a clock that was put back: better to wait for a person than to sync twice.
  return isProcessAlive(row, own) ?? now - row.beat_at < heartbeatTimeoutMs
}

function isSameProcess(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return one.host === other.host && one.pid === other.pid && one.process === other.process
}

export function processLabel({ host, pid }: { host: string; pid: number }): string {
  return `process ${pid} on ${host}`
}

function createLockHandle(db: Db, project: string, token: string, streams: number) {
  const own = { project_id: project, token }
  return {
    token,
    heartbeat: async (now: number) => {
      const { numUpdatedRows } = await db
        .updateTable('sync_locks')
        .set({ beat_at: now })
        .where((eb) => eb.and(own))
        .executeTakeFirst()
      return numUpdatedRows === BigInt(streams)
    },
    release: async () => {
      ownTokens.delete(token)
      await db
        .deleteFrom('sync_locks')
        .where((eb) => eb.and(own))
        .execute()
    },
  }
}

/** Who has been syncing the project for longest, if anybody does. */
export async function findLockHolder(db: Db, project: string, now: number) {
  const rows = await db
    .selectFrom('sync_locks')
    .selectAll()
    .where('project_id', '=', project)
    .orderBy('since')
    .orderBy('stream')
    .execute()
  const row = rows.find((it) => isHeld(it, currentProcess(), now))
  return row === undefined ? null : { holder: processLabel(row), since: row.since }
}
