/** The locks of a project's streams, as commands take them and keep them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type StreamName, streamNames } from '../../schema/stream-specs.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { LockResult } from '../mirror/mirror.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { UserError } from '../values/user-error.ts'
import type { Use } from '../values/with-opened.ts'
import { heartbeatTimeoutMs } from '../warehouse/process-identity.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'
import type { Warehouse } from './open.ts'

/** Not the id of a project: workers have their locks in the same table. */
export const allProjects = '*'

export type AcquiredLock = Extract<LockResult, { held: true }>

/**
 * All at once; or, if `wait` is set, one by one as others release them, because a worker always
 * reads some stream, a time slice each. Throws UserError if another process holds a stream, or the
 * signal ends the wait.
 */
export async function acquireLocks(
  warehouse: Warehouse,
  project: ProjectConfig,
  options: {
    readonly streams: readonly StreamName[]
    readonly wait: boolean
    readonly signal: AbortSignal
    readonly log: Logger
  },
): Promise<AcquiredLock> {
  const context = warehouse.projectDb(project.projectId)
  const all = await acquireStreamLocks(context, options.streams)
  if (all.held) return all
  if (!options.wait) throw lockedError(cannotSync(project), all)
  const { holder, since } = all
  options.log.info({ event: 'lock.awaited', project: project.name, holder, since })
  const acquired: AcquiredLock[] = []
  const waitForLock = async (stream: StreamName): Promise<AcquiredLock> => {
    for (;;) {
      const lock = await acquireStreamLocks(context, [stream])
      if (lock.held) return lock
      if (options.signal.aborted) throw lockedError(cannotSync(project), lock)
      await combineLocks(acquired).heartbeat(Date.now())
      await sleep(300, undefined, { signal: options.signal }).catch(() => {})
    }
  }
  try {
    // All processes lock in the same order, so no two wait for each other.
    for (const stream of options.streams.toSorted()) acquired.push(await waitForLock(stream))
    return combineLocks(acquired)
  } catch (error) {
    await combineLocks(acquired).release()
    throw error
  }
}

function combineLocks(locks: readonly AcquiredLock[]): AcquiredLock {
  return {
    held: true,
    token: locks[0]?.token ?? '',
    heartbeat: async (now) =>
      (await Promise.all(locks.map((lock) => lock.heartbeat(now)))).every((isKept) => isKept),
    release: async () => {
      for (const lock of locks) await lock.release()
    },
  }
}

/** All streams, without waiting. Throws UserError, with these texts, if one is being read. */
export async function lockAllStreams(
  use: Use,
  context: ProjectDb,
  texts: BlockedTexts,
): Promise<AcquiredLock> {
  const lock = await acquireStreamLocks(context, streamNames)
  if (!lock.held) throw lockedError(texts, lock)
  use({ close: lock.release })
  return lock
}

type BlockedTexts = { readonly what: string; readonly next: string }

const cannotSync = ({ name }: ProjectConfig): BlockedTexts => ({
  what: `cannot sync the project ${name}`,
  next:
    'wait for it to end, or run `deskmirror sync --wait`; a running worker keeps the ' +
    'project up to date by itself',
})

function lockedError(
  { what, next }: BlockedTexts,
  { stream, holder, since }: Extract<LockResult, { held: false }>,
): UserError {
  const why = `${holder} has been reading its ${stream} since ${since}`
  return new UserError({ what, why, next, exitCode: 1 })
}

/** Renews the lock until it is closed. */
export function startLockHeartbeat(lock: Pick<AcquiredLock, 'heartbeat'>, onLost: () => void) {
  const sendHeartbeat = () =>
    lock.heartbeat(Date.now()).then(
      (isHeld) => isHeld || onLost(),
      () => {},
    )
  const timer = setInterval(() => void sendHeartbeat(), heartbeatTimeoutMs / 6).unref()
  return { close: () => clearInterval(timer) }
}
