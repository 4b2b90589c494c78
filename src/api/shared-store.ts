/**
 * A budget store that processes share: the budget's own decisions over a cell. Whatever is asked for while a swap is under
 * way goes together into the next one; a swap that another process forestalled is decided anew on what it wrote. Where the
 * record may have been lost the budget is closed, in the cell, and so for everybody.
 */
import { uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BudgetPolicy, type BudgetState, freshBudget, usualDeadlineMs } from '../core/budget/budget.ts'
import type { BudgetCell, Reading } from '../core/budget/cell.ts'
import { close, doubt, open } from '../core/budget/closing.ts'
import { type KeyUse, noteEveryMs } from '../core/budget/key-use.ts'
import type { BudgetStore } from '../core/budget/store.ts'
import { fromText, toText } from '../core/budget/text.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import { createStateStore, type Update } from './state-store.ts'

export type SharedStoreOptions = {
  readonly policy: BudgetPolicy
  readonly cell: BudgetCell
  /** Asked by a process that starts and finds nothing, or nothing that it can believe. Told before the key is used. */
  readonly use: KeyUse
  /** Called by the one process that closes the budget. `why` goes on where `the request budget is closed: ` ends. */
  readonly onLost: (why: string) => void
  /** How long a request of any process can take at most, from asking for its slot. */
  readonly deadlineMs?: Ms
  /** Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps. */
  readonly monotonic?: () => Ms
  /** 0 to below 1. */
  readonly random?: () => number
}

/** What is in force before the asked steps; `begun`: it is not what lies there; `why`: because that is not to be believed. */
type Base = { readonly state: BudgetState; readonly begun: boolean; readonly why: string | null }
type Look = { readonly state: BudgetState; readonly now: EpochMs; readonly at: Ms }

/** Tries of one round. Each lost swap is another process's gain, so many in a row mean that something else is wrong. */
const mostTries = 100
/** A keeper that says nothing for so long is out of reach. */
const patienceMs = 10_000

/** Updates reject where the cell is out of reach; the next one tries again. */
export function createSharedStore(options: SharedStoreOptions): BudgetStore {
  const { policy, cell, use, onLost, deadlineMs = usualDeadlineMs, random = Math.random } = options
  const { monotonic = () => uptime() * 1000 } = options
  const forgottenMs = deadlineMs + Math.max(policy.rate.windowMs, policy.writeRate.windowMs) + noteEveryMs
  let last: Look | null = null
  let notedAt = Number.NEGATIVE_INFINITY

  /** `isQuiet`: asked at most once a round. */
  async function judge(reading: Reading, isQuiet: () => Promise<boolean>): Promise<Base> {
    const { now, restarted } = reading
    const state = reading.text === null ? null : fromText(reading.text)
    const why =
      state === null
        ? missing(reading, last !== null)
        : doubt({ state, now, restarted }, last && { ...last, agoMs: monotonic() - last.at })
    if (state !== null && why === null) return { state, begun: false, why }
    const known = newest(last?.state, state)
    if (last === null && (await isQuiet())) return { state: open(known, now), begun: true, why: null }
    return { state: close(policy, known, now, deadlineMs), begun: true, why }
  }

  /** Where it cannot be noted nothing is granted: a slot is lost, and nobody is harmed. */
  async function note(at: Ms): Promise<void> {
    if (at - notedAt < noteEveryMs) return
    await within(patienceMs, use.note())
    notedAt = at
  }

  async function commit(steps: readonly Joined[]): Promise<void> {
    let quiet: Promise<boolean> | undefined
    const isQuiet = () => (quiet ??= within(patienceMs, use.isQuiet(forgottenMs)).catch(() => false))
    // Before the reading: then no more time has passed by the keeper's clock than by ours.
    const at = monotonic()
    let reading = await within(patienceMs, cell.read())
    for (let tries = 1; tries <= mostTries; tries += 1) {
      const base = await judge(reading, isQuiet)
      // A clock that is set back by little stands still.
      const now = Math.max(reading.now, base.state.at)
      const { state, done } = through(steps, base.state, now)
      const changed = state !== base.state
      const swap = changed ? await within(patienceMs, cell.swap(reading, toText(policy, state))) : null
      if (swap === null || swap.swapped) {
        // What was only looked at and not written has not happened.
        if (changed || !base.begun) last = { state, now: reading.now, at }
        if (changed && base.why !== null) onLost(base.why)
        if (changed) await note(at)
        for (const finish of done) finish()
        return
      }
      reading = swap.reading
      await sleep(random() * Math.min(50, 2 ** tries))
    }
    throw new Error('too many processes change the request budget at once')
  }

  return createStateStore(policy, together(commit))
}

function missing({ text }: Reading, seen: boolean): string {
  if (text !== null) return 'its record is unreadable'
  return seen ? 'its record is gone' : 'there is no record of the last requests'
}

/** What is known of the state, where what lies there is not to be believed. */
function newest(seen: BudgetState | undefined, found: BudgetState | null): BudgetState {
  const [one, other] = [seen ?? freshBudget, found ?? freshBudget]
  return other.era > one.era ? other : one
}

/** Applies its step and returns the state after it; `finish` tells whoever asked, once that state is kept. */
type Joined = {
  readonly apply: (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly finish: () => void }
  readonly fail: (why: unknown) => void
}

function through(steps: readonly Joined[], before: BudgetState, now: EpochMs) {
  let state = before
  const done = steps.map(({ apply }) => {
    const after = apply(state, now)
    state = after.state
    return after.finish
  })
  return { state, done }
}

/** Steps asked for while others are being committed are committed together afterwards: no sooner, or a reading might be older than they. */
function together(commit: (steps: readonly Joined[]) => Promise<void>): Update {
  let waiting: Joined[] = []
  let busy = false

  async function serve(): Promise<void> {
    // What the same moment asks for goes along.
    await null
    while (waiting.length > 0) {
      const steps = waiting
      waiting = []
      await commit(steps).catch((error) => {
        for (const { fail } of steps) fail(error)
      })
    }
    busy = false
  }

  return (step) =>
    new Promise((resolve, reject) => {
      const apply: Joined['apply'] = (before, now) => {
        const { state, result } = step(before, now)
        return { state, finish: () => resolve(result) }
      }
      waiting.push({ apply, fail: reject })
      if (busy) return
      busy = true
      void serve()
    })
}

/** Rejects when it takes longer. */
function within<T>(ms: Ms, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`its store did not answer within ${ms / 1000} s`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
