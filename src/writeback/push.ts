/** Carries out what is queued, lanes side by side, until nothing more can be done. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CallFailed, type Failure } from '../core/failure.ts'
import type { Ready } from '../core/outbox.ts'
import type { Status, StatusCounts } from '../core/outbox-state.ts'
import type { Ms } from '../core/time.ts'
import type { Operation } from '../core/wish.ts'
import { type Held, heldBack, isHeldBack, nothingHeld, partWithout } from './breaker.ts'
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
  const denied = new Map<Operation, Failure>()
  let held = nothingHeld
  const settled: Partial<Record<Status, number>> = {}
  let troubles = 0
  let stopped: Failure | null = null
  let bug: unknown

  const part = () => partWithout(held, denied.keys())
  const stays = (next: Ready) => denied.has(next.operation) || isHeldBack(held, next)
  const goesOn = () => stopped === null && bug === undefined && !signal.aborted

  const tell = () => {
    const sum = Object.values(settled).reduce((total, count) => total + count, 0)
    options.onProgress({ settled: sum, working: running.size })
  }
  const onSettled = (status: Status) => {
    settled[status] = (settled[status] ?? 0) + 1
    troubles = 0
    tell()
  }
  const start = async (head: Ready) => {
    try {
      const trouble = await workLane(deps, head, { mayGoOn: (next) => goesOn() && !stays(next), onSettled })
      if (trouble !== null && trouble.kind !== 'throttled') troubles += 1
      if (troubles >= troubleInARow) stopped ??= trouble
    } catch (error) {
      if (!(error instanceof CallFailed)) bug ??= error
      else {
        const lacking = outOfReach(head.operation, error)
        for (const operation of lacking) denied.set(operation, error.failure)
        if (lacking.length === 0) stopped ??= error.failure
      }
    } finally {
      running.delete(head.lane)
      tell()
    }
  }

  try {
    while (goesOn()) {
      if (!options.despiteFailures) held = heldBack(await outbox.lastFates(60), now())
      const ready = await outbox.ready(now(), options.lanesAtOnce * 2, part())
      for (const head of ready) {
        if (running.size < options.lanesAtOnce && !running.has(head.lane)) running.set(head.lane, start(head))
      }
      if (running.size === 0 && !(await outbox.isPending(part()))) break
      await Promise.race([...running.values(), sleep(pollMs, undefined, { signal }).catch(() => {})])
    }
  } catch (error) {
    // Those that are under way are seen to their end: cut off, nobody would know what became of them.
    bug ??= error
  }
  await Promise.all(running.values())
  if (bug !== undefined) throw bug
  return { settled, stopped, denied, held }
}
