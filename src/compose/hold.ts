/** The lock of a one-shot run over its streams: at once, or stream by stream as others let go of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProjectConfig } from '../config.ts'
import type { StreamName } from '../core/row.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { HeldLock } from './run.ts'

export type HoldOptions = {
  readonly streams: readonly StreamName[]
  /** Instead of refusing. A worker reads a stream in portions, and some stream always: so what is free is kept. */
  readonly wait: boolean
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Throws UserError where others hold a stream, and it is not waited for or the signal ends the wait. */
export async function hold(warehouse: Warehouse, project: ProjectConfig, options: HoldOptions): Promise<HeldLock> {
  const all = await warehouse.lock(project.projectId, options.streams, Date.now())
  if (all.held) return all
  if (!options.wait) throw heldBy(project, all)
  const { holder, since } = all
  options.log.info({ event: 'lock.awaited', project: project.name, holder, since })
  const held: HeldLock[] = []
  try {
    // All who wait go by the same order, so no two wait for each other.
    for (const stream of options.streams.toSorted()) held.push(await one(warehouse, project, stream, held, options))
    return together(held)
  } catch (error) {
    await together(held).release()
    throw error
  }
}

async function one(
  warehouse: Warehouse,
  project: ProjectConfig,
  stream: StreamName,
  held: readonly HeldLock[],
  { signal }: HoldOptions,
): Promise<HeldLock> {
  for (;;) {
    const lock = await warehouse.lock(project.projectId, [stream], Date.now())
    if (lock.held) return lock
    if (signal.aborted) throw heldBy(project, lock)
    await together(held).beat(Date.now())
    await sleep(300, undefined, { signal }).catch(() => {})
  }
}

function together(held: readonly HeldLock[]): HeldLock {
  return {
    held: true,
    token: held[0]?.token ?? '',
    beat: async (now) => (await Promise.all(held.map((lock) => lock.beat(now)))).every((kept) => kept),
    release: async () => {
      for (const lock of held) await lock.release()
    },
  }
}

function heldBy(project: ProjectConfig, { stream, holder, since }: { stream: string; holder: string; since: string }) {
  return new UserError({
    what: `cannot sync the project ${project.name}`,
    why: `${holder} has been reading its ${stream} since ${since}`,
    next: 'wait for it to end, or run `deskmirror sync --wait`; a worker that runs keeps the project fresh by itself',
    exitCode: 1,
  })
}
