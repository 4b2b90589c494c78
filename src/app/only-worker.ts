/** The lock of a worker with the embedded queue: a second one would do all of its work again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../log.ts'
import { listLiveWorkers } from '../maintenance/sql/workers.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { UserError } from '../values/user-error.ts'
import { explainOpenError } from '../warehouse/explain-error.ts'
import { type DatabaseLocation, locationLabel, parseDatabaseUrl } from '../warehouse/location.ts'
import { heartbeatTimeoutMs } from '../warehouse/process-identity.ts'
import { lockFile } from '../warehouse/sqlite-file.ts'
import { sideFile } from '../warehouse/warehouse-files.ts'
import type { Warehouse } from './open.ts'
import { allProjects, startLockHeartbeat } from './stream-locks.ts'

const workerRole = 'worker'

type Options = {
  readonly log: Logger
  readonly onLost: (error: Error) => void
  /** What cannot be done beside a worker. */
  readonly what?: string
}

/**
 * In SQLite a lock of the operating system, which ends with its process; in Postgres a row with
 * heartbeats, as a pooler would give a lock of the session to others. `onLost`: another worker has
 * taken over. Throws UserError if another one runs.
 */
export async function lockAsOnlyWorker(
  databaseUrl: string,
  warehouse: Warehouse,
  options: Options,
): Promise<() => Promise<void>> {
  const location = parseDatabaseUrl(databaseUrl)
  const refuse = (holder: string) => alreadyRuns(location, holder, options.what)
  if (location.kind === 'postgres') return acquireRow(warehouse, options, refuse)
  const lock = { ...location, path: sideFile(location, 'worker') }
  let release: ReturnType<typeof lockFile>
  try {
    release = lockFile(lock.path, location.path)
  } catch (error) {
    throw explainOpenError(lock, error)
  }
  if (release !== null) return async () => release()
  const [oldest] = await listLiveWorkers(warehouse.db, Date.now())
  throw refuse(oldest?.holder ?? 'another process')
}

async function acquireRow(
  warehouse: Warehouse,
  { log, onLost }: Options,
  refuse: (holder: string) => UserError,
) {
  const giveUpAt = Date.now() + heartbeatTimeoutMs + 1000
  for (let isFirst = true; ; isFirst = false) {
    const lock = await acquireStreamLocks(warehouse.projectDb(allProjects), [workerRole])
    if (lock.held) {
      const heartbeat = startLockHeartbeat(lock, () =>
        onLost(new Error('another worker has taken over')),
      )
      return async () => {
        heartbeat.close()
        await lock.release()
      }
    }
    if (lock.isAlive === true || Date.now() > giveUpAt) throw refuse(lock.holder)
    // On another machine or in another container only its heartbeats show whether it was killed.
    if (isFirst)
      log.info({
        event: 'worker.waiting',
        holder: lock.holder,
        why: 'it runs, or was killed within a minute',
      })
    await sleep(1000)
  }
}

function alreadyRuns(location: DatabaseLocation, holder: string, what?: string): UserError {
  const second = 'start a second worker with the embedded queue'
  const shared = ', or set DESKMIRROR_QUEUE_URL to a Redis that all workers share'
  return new UserError({
    what: `cannot ${what ?? second} on ${locationLabel(location)}`,
    why: what === undefined ? `${holder} runs one` : `${holder} uses it`,
    next: `stop that one first${what === undefined ? shared : ''}`,
    exitCode: 1,
  })
}
