/**
 * The one scheduler of a simulated world: virtual time, a queue of what can happen next, and a
 * seeded random number generator that makes every choice. Nothing runs by itself: what real code
 * waits for (a timer, a statement, a response) is an item of the queue, so the same seed gives the
 * same schedule.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as realImmediate } from 'node:timers'
import type { EpochMs, Ms } from '../../src/values/time.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { createDigest, type Event, type Recording } from './digest.ts'

/** A simulated process of the program. Dead: nothing of it ever runs again. */
export type SimulatedProcess = {
  readonly name: string
  readonly pid: number
  /** Processes of different containers cannot see whether the other is alive. */
  readonly container: string
  isDead: boolean
  /** Its time slice is over. */
  isSliceOver: boolean
  /** It has the write lock of the database. */
  isInTransaction: boolean
  /** It is not scheduled before, as if it had been suspended. */
  suspendedUntil: Ms
}

export type Item = {
  readonly owner: SimulatedProcess | null
  readonly what: string
  readonly run: () => void
  at: Ms
  readonly order: number
  isCancelled: boolean
}

export type TraceLine = { readonly at: Ms; readonly who: string; readonly what: string }

/**
 * `lists`: services with lists of all kinds, whose reading is ended at any request; `undisturbed
 * lists`: without that.
 */
export type WorldKind = 'any' | 'lists' | 'undisturbed lists'

/**
 * What is kept of a run, for people and for a comparison. `digest`: it takes a tenth of the time.
 */
export type RunRecords = {
  readonly trace?: TraceLine[]
  readonly recording?: Recording
  readonly digest?: 'none'
}

export type Scheduler = ReturnType<typeof createScheduler>

/** A schedule that never ends is a failure of its own, with a message for people. */
export class ScheduleError extends Error {}

const maxItems = 60_000
const maxVirtualMs: Ms = 6 * 3_600_000

/**
 * The process whose code runs now; null: the world itself; undefined: code that has nothing to do
 * with the simulation.
 */
export const currentProcess = new AsyncLocalStorage<SimulatedProcess | null>()

/** `onItem`: called before each item of a process; it may kill or suspend the process. */
export function createScheduler(seed: number, { trace, recording, ...records }: RunRecords) {
  const draw = seededRandom(seed)
  const digest = records.digest === 'none' ? null : createDigest(recording)
  const queue: Item[] = []
  let now: Ms = 0
  let count = 0
  let draws = 0
  let onItem: (item: Item) => void = () => {}

  const random = () => {
    draws += 1
    return draw()
  }
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const record = (...event: Event) => digest?.add(event)
  const addToTrace = (who: string, what: string) => void trace?.push({ at: now, who, what })
  const log = (who: string, what: string) => {
    record(now, who, what)
    addToTrace(who, what)
  }

  function enqueue(item: Item): void {
    let position = queue.length
    // Almost everything is due soon, so the queue is short and its end is the right place to start.
    while (position > 0 && isBefore(item, queue[position - 1])) position -= 1
    queue.splice(position, 0, item)
  }

  /** What is due at the same time runs in random order. */
  function schedule(
    owner: SimulatedProcess | null,
    delayMs: Ms,
    what: string,
    run: () => void,
  ): Item {
    const item: Item = {
      owner,
      what,
      run,
      at: now + Math.max(0, Math.ceil(delayMs)),
      order: random(),
      isCancelled: false,
    }
    enqueue(item)
    return item
  }

  /**
   * The next item of a process that lives and is not suspended; most timers are cancelled before
   * they are due.
   */
  function takeNext(): Item | undefined {
    for (;;) {
      const item = queue.shift()
      if (item === undefined) return
      const { owner } = item
      if (item.isCancelled || owner?.isDead) continue
      now = Math.max(now, item.at)
      if (owner === null || owner.suspendedUntil <= now) return item
      item.at = owner.suspendedUntil
      enqueue(item)
    }
  }

  /**
   * Runs items until `isOver`. Throws ScheduleError if nothing is left that could happen, or far
   * too much.
   */
  async function run(isOver: () => boolean): Promise<void> {
    for (;;) {
      await new Promise((resolve) => realImmediate(resolve))
      if (isOver()) return
      const item = takeNext()
      if (item === undefined) throw new ScheduleError('deadlock: nothing is left that could happen')
      const { owner } = item
      count += 1
      if (count > maxItems || now > maxVirtualMs)
        throw new ScheduleError(`it does not end: ${count} items, ${Math.round(now / 1000)} s`)
      if (owner !== null) onItem(item)
      if (owner?.isDead) continue
      if (owner !== null && owner.suspendedUntil > now) {
        enqueue({ ...item, at: owner.suspendedUntil })
        continue
      }
      const who = owner?.name ?? 'world'
      record(now, who, draws)
      if (item.what !== '') addToTrace(who, item.what)
      currentProcess.run(owner, item.run)
    }
  }

  return {
    now: () => now,
    isTracing: trace !== undefined,
    random,
    int,
    chance: (share: number) => share > 0 && random() < share,
    pick: <const T>(choices: readonly [T, ...T[]]): T =>
      choices[int(0, choices.length - 1)] ?? choices[0],
    log,
    /** What only a trace has: it must not change the digest. */
    addToTrace,
    /** Whatever a schedule must not depend on the machine for. */
    record,
    digest: () => digest?.digest() ?? 0,
    schedule,
    /** Resolves after this time, unless the process dies. */
    wait: (owner: SimulatedProcess | null, delayMs: Ms, what: string) =>
      new Promise<void>((resolve) => schedule(owner, delayMs, what, resolve)),
    run,
    itemCount: () => count,
    onItem: (listener: (item: Item) => void) => {
      onItem = listener
    },
  }
}

function isBefore(a: Item, b: Item | undefined): boolean {
  return b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order))
}

/** Where virtual time starts, by the wall clock. */
export const epoch: EpochMs = Date.parse('2026-06-01T12:00:00Z')
