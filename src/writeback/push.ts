/** Carries out what is queued, lanes side by side, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CallFailed, type Failure } from '../core/failure.ts'
import type { Ready } from '../core/outbox/outbox.ts'
import type { Status, StatusCounts } from '../core/outbox/state.ts'
import type { Operation } from '../core/outbox/wish.ts'
import type { Ms } from '../core/time.ts'
import { fatesLookedAt, type Held, heldBack, nothingHeld, partWithout, staysQueued } from './breaker.ts'
import type { WritebackDeps } from './deps.ts'
import { workLane } from './lane.ts'
import { outOfReach } from './scopes.ts'

export type PushOptions = {
  readonly lanesAtOnce: number
  /** Goes on although the last ones went wrong. */
  readonly despiteFailures: boolean
  readonly onProgress: (progress: PushProgress) => void
}

export type PushProgress = { readonly settled: number; readonly working: number }

export type Pushed = {
  /** By what they have become. */
  readonly settled: StatusCounts
  /** What ended it before its end: the service does not answer, or denies the key. */
  readonly stopped: Failure | null
  /** What the key lacks the scope for. */
  readonly denied: ReadonlyMap<Operation, Failure>
  readonly held: Held
}

/** So many lanes in a row that met with trouble mean that nobody answers. */
const troubleInARow = 8

/** How often it looks for what became due, or was queued meanwhile. */
const pollMs: Ms = 250

/** Never throws CallFailed; anything thrown is a bug. */
export async function push(deps: WritebackDeps, options: PushOptions): Promise<Pushed> {
  const { outbox, signal, now } = deps
  const running = new Map<string, Promise<void>>()
  const tell = () => options.onProgress({ settled: course.count(), working: running.size })
  const course = createCourse(tell)
  let held = nothingHeld
  const mayGoOn = (next: Ready) => course.goesOn() && !signal.aborted && !staysQueued(held, course.lacking(), next)

  const work = (head: Ready) =>
    workLane(deps, head, { mayGoOn, onSettled: course.onSettled })
      .then(course.onTrouble, (error: unknown) => course.onError(head.operation, error))
      .finally(() => {
        running.delete(head.lane)
        tell()
      })

  try {
    while (course.goesOn() && !signal.aborted) {
      if (!options.despiteFailures) held = heldBack(await outbox.lastFates(fatesLookedAt), now())
      const part = partWithout(held, course.lacking())
      for (const head of await outbox.ready(now(), options.lanesAtOnce * 2, part)) {
        if (running.size < options.lanesAtOnce && !running.has(head.lane)) running.set(head.lane, work(head))
      }
      if (running.size === 0 && !(await outbox.isPending(partWithout(held, course.lacking())))) break
      await Promise.race([...running.values(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    }
  } catch (error) {
    course.onBug(error)
  }
  // Those that are under way are seen to their end: cut off, nobody would know what became of them.
  await Promise.all(running.values())
  return { ...course.end(), held }
}

/** What has happened so far, and whether that lets it go on. */
function createCourse(onChange: () => void) {
  const settled: Partial<Record<Status, number>> = {}
  const denied = new Map<Operation, Failure>()
  let troubles = 0
  let stopped: Failure | null = null
  let bug: { readonly error: unknown } | null = null
  const onBug = (error: unknown) => {
    bug ??= { error }
  }
  return {
    count: () => Object.values(settled).reduce((sum, count) => sum + count, 0),
    goesOn: () => stopped === null && bug === null,
    lacking: () => [...denied.keys()],
    onSettled: (status: Status) => {
      settled[status] = (settled[status] ?? 0) + 1
      troubles = 0
      onChange()
    },
    onTrouble: (trouble: Failure | null) => {
      if (trouble === null || trouble.kind === 'throttled') return
      troubles += 1
      if (troubles >= troubleInARow) stopped ??= trouble
    },
    onError: (operation: Operation, error: unknown) => {
      if (!(error instanceof CallFailed)) return onBug(error)
      const lacking = outOfReach(operation, error)
      for (const each of lacking) denied.set(each, error.failure)
      if (lacking.length === 0) stopped ??= error.failure
    },
    onBug,
    end: () => {
      if (bug !== null) throw bug.error
      return { settled, stopped, denied }
    },
  }
}
