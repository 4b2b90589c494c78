/**
 * A simulation: processes that share one budget, a network with latency, and a service that counts
 * requests.
 */
import { acquireSlot, type PendingRequest } from '../../../src/service/core/acquire-slot.ts'
import type { Priority } from '../../../src/service/core/api-request.ts'
import {
  type BudgetState,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
  type Slot,
} from '../../../src/service/core/budget.ts'
import type { BudgetPolicy } from '../../../src/service/core/budget-policy.ts'
import {
  type ClockReading,
  clockGainMs,
  closeBudget,
  nextReference,
  toleratedGainMs,
} from '../../../src/service/core/close-budget.ts'
import { addSlots, noTakenSlots } from '../../../src/service/core/slots.ts'
import type { EpochMs } from '../../../src/values/time.ts'
import type { LimitedServer } from './limited-servers.ts'

export type WorldRandom = () => number

/** Milliseconds between sending and answer. */
export type Latency = (random: WorldRandom) => number

/** Requests that a process has waiting from `at` on. */
export type Burst = {
  readonly at: number
  readonly priority: Priority
  readonly write: boolean
  readonly count: number
}

export type SimulatedWorld = {
  readonly policy: BudgetPolicy
  readonly state?: BudgetState
  readonly processes: readonly (readonly Burst[])[]
  readonly latency: Latency
  readonly untilMs: number
  readonly servers: readonly LimitedServer[]
  /** True: the first server's 429 reach the client. False: the servers only watch. */
  readonly answers429?: boolean
  readonly retryAfterMs?: number
  /** Times of requests that another program sends with the same key. */
  readonly foreign?: readonly number[]
  /** Times at which the record is lost; the process that reads it next finds it missing. */
  readonly recordLosses?: readonly number[]
  /**
   * The share of our requests whose process dies before it records the response. The service counts
   * them anyway.
   */
  readonly unanswered?: number
  /** True: the service counts a request just before it answers, not at a random time until then. */
  readonly countsLate?: boolean
  /** The store's clock runs faster by this share. */
  readonly drift?: number
  /** When the store's clock is set forward. */
  readonly clockGains?: readonly { readonly at: number; readonly ms: number }[]
  readonly random: WorldRandom
}

export type SentRequest = Omit<Burst, 'count'> & { readonly process: number }

export type SimulationResult = {
  readonly sent: readonly SentRequest[]
  /** When the service counted each of our requests, in order. */
  readonly counted: readonly number[]
  readonly countedWrites: readonly number[]
  /** Requests that a server would have refused, ours and others'. */
  readonly refused: readonly { readonly at: number; readonly server: string }[]
  /** Our requests that got a 429. */
  readonly throttled: number
  readonly state: BudgetState
}

export const maxDurationMs = 30_000

export function simulate(world: SimulatedWorld): SimulationResult {
  const { policy, random, latency } = world
  let state = world.state ?? initialBudgetState
  let lost = false
  let gainedMs = 0
  const storeTime = (now: number) => now * (1 + (world.drift ?? 0)) + gainedMs
  let reference: ClockReading = { store: 0, from: 0, to: 0 }
  /** As a process finds it that reads it now. */
  const currentState = (now: number) => {
    const reading = { store: storeTime(now), from: now, to: now }
    const gainMs = clockGainMs(reference, reading)
    if (lost || gainMs > toleratedGainMs(policy.rate.windowMs)) {
      state = closeBudget(policy, lost ? initialBudgetState : state, reading.store, maxDurationMs)
      reference = reading
    }
    reference = nextReference(reference, reading, policy.rate.windowMs)
    lost = false
    return state
  }
  const events = createEventQueue()
  const sent: SentRequest[] = []
  const counted: number[] = []
  const countedWrites: number[] = []
  const refused: { at: number; server: string }[] = []
  let throttled = 0

  const count = (at: number) => {
    const admissions = world.servers.map((server) => {
      const isAdmitted = server.admit(at)
      if (!isAdmitted) refused.push({ at, server: server.name })
      return isAdmitted
    })
    return world.answers429 !== true || admissions[0] === true
  }

  const send = (at: number, request: PendingRequest, slot: Slot, process: number) => {
    sent.push({ at, priority: request.priority, write: request.write, process })
    const takes = latency(random)
    let admitted = true
    events.add(at + (world.countsLate === true ? 0.999 : random()) * takes, (now) => {
      admitted = count(now)
      if (admitted) counted.push(now)
      if (admitted && request.write) countedWrites.push(now)
    })
    if (random() < (world.unanswered ?? 0)) return
    events.add(at + takes, (now) => {
      const storeNow = storeTime(now)
      state = releaseSlot(policy, currentState(now), storeNow, slot, 'responded')
      if (admitted) return
      throttled += 1
      state = recordThrottle(policy, state, storeNow, slot, world.retryAfterMs ?? 60_000)
    })
  }

  world.processes.forEach((bursts, process) => {
    const waiting = new Map<string, { request: PendingRequest; left: number }>()
    let timer = 0
    const serve = (now: number): void => {
      const kinds = [...waiting.entries()]
        .filter(([, kind]) => kind.left > 0)
        .sort(([a], [b]) => (a < b ? -1 : 1))
      if (kinds.length === 0) return
      const pending = kinds.map(([, kind]) => kind.request)
      const at = storeTime(now)
      const { state: next, decision } = acquireSlot(
        policy,
        currentState(now),
        at,
        `process ${process}`,
        pending,
      )
      state = next
      const timerId = ++timer
      if ('waitMs' in decision) {
        // A timer fires late, never early.
        events.add(
          now + decision.waitMs + random() * 2,
          (later) => timerId === timer && serve(later),
        )
        return
      }
      const kind = kinds[decision.granted]![1]
      kind.left -= 1
      send(now, kind.request, decision.slot, process)
      events.add(now + 0.2, (later) => timerId === timer && serve(later))
    }
    for (const { at, priority, write, count } of bursts) {
      events.add(at, (now) => {
        const key = `${['write', 'fresh', 'backfill', 'reconcile'].indexOf(priority)} ${write ? 0 : 1}`
        waiting.set(key, {
          request: { priority, write, maxDurationMs },
          left: (waiting.get(key)?.left ?? 0) + count,
        })
        serve(now)
      })
    }
  })
  for (const at of world.foreign ?? []) events.add(at, (now) => void count(now))
  for (const at of world.recordLosses ?? [])
    events.add(at, () => {
      lost = true
    })

  for (const { at, ms } of world.clockGains ?? [])
    events.add(at, () => {
      gainedMs += ms
    })

  events.runUntil(world.untilMs)
  return { sent, counted, countedWrites, refused, throttled, state }
}

/** The largest number of times in any window of `windowMs`. `times` in order. */
export function maxInWindow(times: readonly number[], windowMs: number): number {
  let from = 0
  let best = 0
  times.forEach((at, index) => {
    while (times[from]! <= at - windowMs) from += 1
    best = Math.max(best, index - from + 1)
  })
  return best
}

export function countBetween(times: readonly number[], from: number, to: number): number {
  return times.filter((at) => at >= from && at < to).length
}

type SimulatedEvent = {
  readonly at: number
  readonly order: number
  readonly run: (now: number) => void
}

/**
 * Future events in the order of their times; events of the same time in the order in which they
 * were added.
 */
function createEventQueue() {
  const heap: SimulatedEvent[] = []
  let order = 0
  const before = (a: SimulatedEvent, b: SimulatedEvent) =>
    a.at < b.at || (a.at === b.at && a.order < b.order)
  const add = (at: number, run: (now: number) => void) => {
    let index = heap.push({ at, order: order++, run }) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(heap[index]!, heap[parent]!)) break
      ;[heap[index], heap[parent]] = [heap[parent]!, heap[index]!]
      index = parent
    }
  }
  const next = (): SimulatedEvent | undefined => {
    const top = heap[0]
    const last = heap.pop()
    if (last === undefined || last === top) return top
    heap[0] = last
    for (let index = 0; ; ) {
      const left = 2 * index + 1
      const right = left + 1
      let least = index
      if (left < heap.length && before(heap[left]!, heap[least]!)) least = left
      if (right < heap.length && before(heap[right]!, heap[least]!)) least = right
      if (least === index) return top
      ;[heap[index], heap[least]] = [heap[least]!, heap[index]!]
      index = least
    }
  }
  const runUntil = (untilMs: number) => {
    for (let event = next(); event !== undefined && event.at <= untilMs; event = next())
      event.run(event.at)
  }
  return { add, runUntil }
}

/** The state of a budget of which so many slots are taken until a time. */
export function withTakenSlots(at: EpochMs, freeAt: EpochMs, count: number): BudgetState {
  const taken = count === 0 ? noTakenSlots : addSlots(noTakenSlots, freeAt, count)
  return { ...initialBudgetState, at, all: { ...initialBudgetState.all, taken } }
}
