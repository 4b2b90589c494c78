/** Where the state of a budget is kept: in memory, or in a record that processes share. */
import { uptime } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EpochMs, Ms } from '../../values/time.ts'
import { acquireSlot, defaultMaxDurationMs, type PendingRequest } from '../core/acquire-slot.ts'
import {
  type BudgetState,
  budgetView,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
  type Slot,
} from '../core/budget.ts'
import type { BudgetPolicy } from '../core/budget-policy.ts'
import {
  type BudgetRecord,
  decodeBudgetState,
  encodeBudgetState,
  type KeyUse,
  type RecordReading,
  recordUseEveryMs,
} from '../core/budget-record.ts'
import {
  type ClockReading,
  clockGainMs,
  closeBudget,
  invalidReason,
  nextReference,
  startBudget,
} from '../core/close-budget.ts'

/**
 * Runs while the machine is suspended. Where it goes back, as when a virtual machine moves, the
 * shared budget closes for once, as if the store's clock had been set forward.
 */
export const uptimeMs = (): Ms => uptime() * 1000

/** Decisions are made where the state is, by its clock; a process only waits. */
export type BudgetStore = ReturnType<typeof createStateStore>

/** Atomically, and stores the state that `step` returns. `now` never decreases by itself. */
type UpdateState = <T>(
  step: (state: BudgetState, now: EpochMs) => { readonly state: BudgetState; readonly result: T },
) => Promise<T>

function createStateStore(policy: BudgetPolicy, update: UpdateState) {
  const changeState = (to: (state: BudgetState, now: EpochMs) => BudgetState): Promise<void> =>
    update((state, now) => ({ state: to(state, now), result: undefined }))
  return {
    acquire: (processId: string, pending: readonly PendingRequest[]) =>
      update((before, now) => {
        const { state, decision } = acquireSlot(policy, before, now, processId, pending)
        return { state, result: decision }
      }),
    release: (slot: Slot, ending: 'responded' | 'unsent') =>
      changeState((state, now) => releaseSlot(policy, state, now, slot, ending)),
    recordThrottle: (slot: Slot, waitMs: Ms) =>
      changeState((state, now) => recordThrottle(policy, state, now, slot, waitMs)),
    view: () => update((state, now) => ({ state, result: budgetView(policy, state, now) })),
  }
}

/** The budget of a key that only this process uses. `now`: milliseconds of a monotonic clock. */
export function createMemoryStore(
  policy: BudgetPolicy,
  now: () => EpochMs = () => performance.now(),
): BudgetStore {
  let current = initialBudgetState
  return createStateStore(policy, async (step) => {
    const { state, result } = step(current, now())
    current = state
    return result
  })
}

/** Each lost swap is another process's success: so many in a row mean something else. */
const maxSwapAttempts = 100
const storeTimeoutMs = 10_000

/**
 * A budget store that processes share: group commit over a compare-and-set record. What is
 * requested during a swap goes into the next one; after a lost swap all is decided again. If the
 * record may be lost, the budget is closed in it, for all. Rejects if the record cannot be reached.
 */
export function createSharedStore({
  policy,
  record,
  keyUse,
  onClosed,
  maxDurationMs = defaultMaxDurationMs,
  monotonic = uptimeMs,
  random = Math.random,
}: {
  readonly policy: BudgetPolicy
  readonly record: BudgetRecord
  /** Asked if no record can be trusted. Updated before the key is used. */
  readonly keyUse: KeyUse
  /**
   * In the process that closes it; `why` completes `the request budget is closed: `. Null: in one
   * that finds it closed when it begins, as after a restart.
   */
  readonly onClosed: (why: string | null) => void
  /** How long a request of any process can take, from requesting its slot. */
  readonly maxDurationMs?: Ms
  readonly monotonic?: () => Ms
  /** 0 to below 1. */
  readonly random?: () => number
}): BudgetStore {
  const windowMs = Math.max(policy.rate.windowMs, policy.writeRate.windowMs)
  const unusedAfterMs = maxDurationMs + windowMs + recordUseEveryMs
  /** `at`: by this process's clock. */
  let lastSeen: { readonly state: BudgetState; readonly now: EpochMs; readonly at: Ms } | null =
    null
  /** The last text and its state, as decoding takes longer than the rest of an update. */
  let decoded: { readonly text: string; readonly state: BudgetState | null } | null = null
  let clockReference: ClockReading | null = null
  let useRecordedAt = Number.NEGATIVE_INFINITY

  /** Usually no other process has written since. */
  function decode(text: string): BudgetState | null {
    if (decoded?.text !== text) decoded = { text, state: decodeBudgetState(text) }
    return decoded.state
  }

  /**
   * `isReset`: it replaces the stored state, for `invalidReason`. `wasUnused`: called once at most.
   */
  async function findStart(reading: RecordReading, gainMs: Ms, wasUnused: () => Promise<boolean>) {
    const { now, restarted } = reading
    const state = reading.text === null ? null : decode(reading.text)
    const why =
      state === null
        ? missingReason(reading, lastSeen !== null)
        : invalidReason(
            { state, now, restarted },
            lastSeen && { ...lastSeen, agoMs: monotonic() - lastSeen.at, gainMs },
            windowMs,
          )
    if (state !== null && why === null) return { state, isReset: false, invalidReason: why }
    const known = newestState(lastSeen?.state, state)
    const canStart = lastSeen === null && (await wasUnused())
    if (canStart) return { state: startBudget(known, now), isReset: true, invalidReason: null }
    return {
      state: closeBudget(policy, known, now, maxDurationMs),
      isReset: true,
      invalidReason: why,
    }
  }

  /** If this fails, the grant fails too: a slot is lost, and no limit is broken. */
  async function recordUse(at: Ms): Promise<void> {
    if (Math.abs(at - useRecordedAt) < recordUseEveryMs) return
    await withTimeout(keyUse.recordUse())
    useRecordedAt = at
  }

  async function commit(steps: readonly BatchedStep[]): Promise<void> {
    let unused: Promise<boolean> | undefined
    const wasUnused = () =>
      (unused ??= withTimeout(keyUse.isUnusedFor(unusedAfterMs)).catch(() => false))
    // Taken before the reading: then no more time has passed by the store's clock than by ours.
    const at = monotonic()
    let reading = await withTimeout(record.read())
    const clocks = { store: reading.now, from: at, to: monotonic() }
    // How far the store's clock ran ahead of ours within a window.
    const reference = clockReference ?? clocks
    const gainMs = clockGainMs(reference, clocks)
    clockReference = nextReference(reference, clocks, windowMs)
    for (let tries = 1; tries <= maxSwapAttempts; tries += 1) {
      const starting = await findStart(reading, gainMs, wasUnused)
      // A clock that is set back a little stands still.
      const now = Math.max(reading.now, starting.state.at)
      const hasClosed = starting.state.generation !== lastSeen?.state.generation
      let state = starting.state
      const finished = steps.map(({ apply }) => {
        const after = apply(state, now)
        state = after.state
        return after.finish
      })
      const changed = state !== starting.state
      const text = changed ? encodeBudgetState(policy, state) : null
      const swap = text === null ? null : await withTimeout(record.compareAndSet(reading, text))
      if (swap === null || swap.swapped) {
        if (text !== null) decoded = { text, state }
        // A new state that was not written does not count.
        if (changed || !starting.isReset) {
          if (lastSeen === null && !starting.isReset && state.closedUntil > now) onClosed(null)
          lastSeen = { state, now: reading.now, at }
          if (hasClosed) clockReference = clocks
        }
        if (changed && starting.invalidReason !== null) onClosed(starting.invalidReason)
        if (changed) await recordUse(at)
        for (const finish of finished) finish()
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

/** The newest state known, if the stored one is not valid. */
function newestState(lastSeen: BudgetState | undefined, found: BudgetState | null): BudgetState {
  const seen = lastSeen ?? initialBudgetState
  const stored = found ?? initialBudgetState
  return stored.generation > seen.generation ? stored : seen
}

/** `finish` resolves the caller's promise, once the state of `apply` is stored. */
type BatchedStep = {
  readonly apply: (
    state: BudgetState,
    now: EpochMs,
  ) => { readonly state: BudgetState; readonly finish: () => void }
  readonly fail: (error: unknown) => void
}

/** Steps during a commit are committed together: a reading may not be older than its steps. */
function batchSteps(commit: (steps: readonly BatchedStep[]) => Promise<void>): UpdateState {
  let waiting: BatchedStep[] = []
  let isCommitting = false

  async function commitWaiting(): Promise<void> {
    // Steps of the same tick go along.
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

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const why = `its store did not answer within ${storeTimeoutMs / 1000} s`
  const timer = setTimeout(() => reject(new Error(why)), storeTimeoutMs)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
