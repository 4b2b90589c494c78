/** Locks the streams of a one-shot sync: all at once, or stream by stream as other processes release them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectConfig } from '../config/config.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { LockResult } from '../warehouse/mirror/stream-locks.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { AcquiredLock } from './sync-run.ts'

type AcquireLocksOptions = {
  readonly streams: readonly StreamName[]
  /** Wait instead of failing. A worker always reads some stream, one time slice each, so locks are acquired one by one. */
  readonly wait: boolean
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Throws UserError if another process holds a stream. If `wait` is set, it throws only when the signal ends the wait. */
export async function acquireLocks(
  warehouse: Warehouse,
  project: ProjectConfig,
  options: AcquireLocksOptions,
): Promise<AcquiredLock> {
  const all = await warehouse.lockStreams(project.projectId, options.streams, Date.now())
  if (all.held) return all
  if (!options.wait) throw lockedError(project, all)
  const { holder, since } = all
  options.log.info({ event: 'lock.awaited', project: project.name, holder, since })
  const acquired: AcquiredLock[] = []
  const waitForLock = async (stream: StreamName): Promise<AcquiredLock> => {
    for (;;) {
      const lock = await warehouse.lockStreams(project.projectId, [stream], Date.now())
      if (lock.held) return lock
      if (options.signal.aborted) throw lockedError(project, lock)
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
    heartbeat: async (now) => (await Promise.all(locks.map((lock) => lock.heartbeat(now)))).every((isKept) => isKept),
    release: async () => {
      for (const lock of locks) await lock.release()
    },
  }
}

function lockedError(project: ProjectConfig, { stream, holder, since }: Extract<LockResult, { held: false }>) {
  return new UserError({
    what: `cannot sync the project ${project.name}`,
    why: `${holder} has been reading its ${stream} since ${since}`,
    next: 'wait for it to end, or run `deskmirror sync --wait`; a running worker keeps the project up to date by itself',
    exitCode: 1,
  })
}
