/**
 * A budget store that processes share: the budget's own decisions over a cell. Whatever is asked for while a swap is under
 * way goes together into the next one; a swap that another process forestalled is decided anew on what it wrote. Where the
 * record may have been lost the budget is closed, in the cell, and so for everybody.
 */
import { uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BudgetPolicy, type BudgetState, initialBudgetState, defaultDeadlineMs } from '../../core/rate-limit/budget.ts'
import type { BudgetRecord, RecordReading } from '../../core/rate-limit/budget-record.ts'
import { closeBudget, distrustReason, startBudget } from '../../core/rate-limit/fail-closed.ts'
import { type KeyUse, recordUseEveryMs } from '../../core/rate-limit/key-use.ts'
import type { BudgetStore } from '../../core/rate-limit/budget-store.ts'
import { decodeBudgetState, encodeBudgetState } from '../../core/rate-limit/state-encoding.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { createStateStore, type UpdateState } from './state-store.ts'

export type SharedStoreOptions = {
  readonly policy: BudgetPolicy
  readonly record: BudgetRecord
  /** Asked by a process that starts and finds nothing, or nothing that it can believe. Told before the key is used. */
  readonly keyUse: KeyUse
  /** Called by the one process that closes the budget. `why` goes on where `the request budget is closed: ` ends. */
  readonly onClosed: (why: string) => void
  /** How long a request of any process can take at most, from asking for its slot. */
  readonly deadlineMs?: Ms
  /** Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps. */
  readonly monotonic?: () => Ms
  /** 0 to below 1. */
  readonly random?: () => number
}

/** What is in force before the asked steps; `begun`: it is not what lies there; `why`: because that is not to be believed. */
type BaseState = { readonly state: BudgetState; readonly isNew: boolean; readonly distrustReason: string | null }
type Observation = { readonly state: BudgetState; readonly now: EpochMs; readonly at: Ms }

/** Tries of one round. Each lost swap is another process's gain, so many in a row mean that something else is wrong. */
const maxSwapAttempts = 100
/** A keeper that says nothing for so long is out of reach. */
const storeTimeoutMs = 10_000

/** Updates reject where the cell is out of reach; the next one tries again. */
export function createSharedStore(options: SharedStoreOptions): BudgetStore {
  const { policy, record, keyUse, onClosed, deadlineMs = defaultDeadlineMs, random = Math.random } = options
  const { monotonic = () => uptime() * 1000 } = options
  const unusedAfterMs = deadlineMs + Math.max(policy.rate.windowMs, policy.writeRate.windowMs) + recordUseEveryMs
  let last: Observation | null = null
  let notedAt = Number.NEGATIVE_INFINITY

  /** `isQuiet`: asked at most once a round. */
  async function chooseBase(reading: RecordReading, wasUnused: () => Promise<boolean>): Promise<BaseState> {
    const { now, restarted } = reading
    const state = reading.text === null ? null : decodeBudgetState(reading.text)
    const why =
      state === null
        ? missingReason(reading, last !== null)
        : distrustReason({ state, now, restarted }, last && { ...last, agoMs: monotonic() - last.at })
    if (state !== null && why === null) return { state, isNew: false, distrustReason: why }
    const known = newestState(last?.state, state)
    if (last === null && (await wasUnused())) return { state: startBudget(known, now), isNew: true, distrustReason: null }
    return { state: closeBudget(policy, known, now, deadlineMs), isNew: true, distrustReason: why }
  }

  /** Where it cannot be noted nothing is granted: a slot is lost, and nobody is harmed. */
  async function recordUse(at: Ms): Promise<void> {
    if (at - notedAt < recordUseEveryMs) return
    await withTimeout(storeTimeoutMs, keyUse.recordUse())
    notedAt = at
  }

  async function commit(steps: readonly BatchedStep[]): Promise<void> {
    let unused: Promise<boolean> | undefined
    const wasUnused = () => (unused ??= withTimeout(storeTimeoutMs, keyUse.isUnusedFor(unusedAfterMs)).catch(() => false))
    // Before the reading: then no more time has passed by the keeper's clock than by ours.
    const at = monotonic()
    let reading = await withTimeout(storeTimeoutMs, record.read())
    for (let tries = 1; tries <= maxSwapAttempts; tries += 1) {
      const base = await chooseBase(reading, wasUnused)
      // A clock that is set back by little stands still.
      const now = Math.max(reading.now, base.state.at)
      const { state, done } = applySteps(steps, base.state, now)
      const changed = state !== base.state
      const swap = changed ? await withTimeout(storeTimeoutMs, record.compareAndSet(reading, encodeBudgetState(policy, state))) : null
      if (swap === null || swap.swapped) {
        // What was only looked at and not written has not happened.
        if (changed || !base.isNew) last = { state, now: reading.now, at }
        if (changed && base.distrustReason !== null) onClosed(base.distrustReason)
        if (changed) await recordUse(at)
        for (const finish of done) finish()
        return
      }
      reading = swap.reading
      await sleep(random() * Math.min(50, 2 ** tries))
    }
    throw new Error('too many processes change the request budget at once')
  }

  return createStateStore(policy, batchSteps(commit))
}

function missingReason({ text }: RecordReading, wasSeen: boolean): string {
  if (text !== null) return 'its record is unreadable'
  return wasSeen ? 'its record is gone' : 'there is no record of the last requests'
}

/** What is known of the state, where what lies there is not to be believed. */
function newestState(lastSeen: BudgetState | undefined, found: BudgetState | null): BudgetState {
  const [one, other] = [lastSeen ?? initialBudgetState, found ?? initialBudgetState]
  return other.era > one.era ? other : one
}

/** Applies its step and returns the state after it; `finish` tells whoever asked, once that state is kept. */
type BatchedStep = {
  readonly apply: (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly finish: () => void }
  readonly fail: (why: unknown) => void
}

function applySteps(steps: readonly BatchedStep[], before: BudgetState, now: EpochMs) {
  let state = before
  const done = steps.map(({ apply }) => {
    const after = apply(state, now)
    state = after.state
    return after.finish
  })
  return { state, done }
}

/** Steps asked for while others are being committed are committed together afterwards: no sooner, or a reading might be older than they. */
function batchSteps(commit: (steps: readonly BatchedStep[]) => Promise<void>): UpdateState {
  let waiting: BatchedStep[] = []
  let isCommitting = false

  async function commitWaiting(): Promise<void> {
    // What the same moment asks for goes along.
    await null
    while (waiting.length > 0) {
      const steps = waiting
      waiting = []
      await commit(steps).catch((error) => {
        for (const { fail } of steps) fail(error)
      })
    }
    isCommitting = false
  }

  return (step) =>
    new Promise((resolve, reject) => {
      const apply: BatchedStep['apply'] = (before, now) => {
        const { state, result } = step(before, now)
        return { state, finish: () => resolve(result) }
      }
      waiting.push({ apply, fail: reject })
      if (isCommitting) return
      isCommitting = true
      void commitWaiting()
    })
}

/** Rejects when it takes longer. */
function withTimeout<T>(ms: Ms, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`its store did not answer within ${ms / 1000} s`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
