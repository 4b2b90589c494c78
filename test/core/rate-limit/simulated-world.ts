/** A world in simulated time: processes that share one budget, a network that takes its time, a service that counts. */
import { acquireSlot, type PendingRequest } from '../../../src/core/rate-limit/acquire-slot.ts'
import {
  type BudgetPolicy,
  type BudgetState,
  initialBudgetState,
  recordThrottle,
  releaseSlot,
  type Slot,
} from '../../../src/core/rate-limit/budget.ts'
import { closeBudget } from '../../../src/core/rate-limit/fail-closed.ts'
import type { Priority } from '../../../src/core/rate-limit/priority.ts'
import type { LimitedServer } from './limited-servers.ts'

export type Random = () => number

/** Milliseconds between sending and answer. */
export type Latency = (dice: Random) => number

/** Requests that a process has from `at` on. */
export type Burst = { readonly at: number; readonly lane: Priority; readonly write: boolean; readonly count: number }

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
  /** Moments of requests that another program makes with the same key. */
  readonly foreign?: readonly number[]
  /** Moments at which the record of all that was sent is lost; whoever looks next finds it so. */
  readonly recordLosses?: readonly number[]
  /** The share of our requests whose process dies before the answer is entered. The service counts them all the same. */
  readonly unanswered?: number
  /** True: the service counts a request just before it answers, and not at any moment until then. */
  readonly countsLate?: boolean
  readonly random: Random
}

export type SentRequest = {
  readonly at: number
  readonly lane: Priority
  readonly write: boolean
  readonly process: number
}

export type SimulationResult = {
  readonly sent: readonly SentRequest[]
  /** When the service counted each of our requests, in order. */
  readonly counted: readonly number[]
  readonly countedWrites: readonly number[]
  /** What a server would have refused, ours and others'. */
  readonly refused: readonly { readonly at: number; readonly server: string }[]
  /** Our requests that got a 429. */
  readonly throttled: number
  readonly state: BudgetState
}

export const deadlineMs = 30_000

/** mulberry32: small, seeded, good enough to vary a world. */
export function createRandom(seed: number): Random {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = Math.imul(a ^ (a >>> 15), a | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function simulate(world: SimulatedWorld): SimulationResult {
  const { policy, random, latency } = world
  let state = world.state ?? initialBudgetState
  let lost = false
  const currentState = (now: number) => {
    if (lost) state = closeBudget(policy, initialBudgetState, now, deadlineMs)
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

  const send = (at: number, ask: PendingRequest, slot: Slot, process: number) => {
    sent.push({ at, lane: ask.priority, write: ask.write, process })
    const takes = latency(random)
    let admitted = true
    events.add(at + (world.countsLate === true ? 0.999 : random()) * takes, (now) => {
      admitted = count(now)
      if (admitted) counted.push(now)
      if (admitted && ask.write) countedWrites.push(now)
    })
    if (random() < (world.unanswered ?? 0)) return
    events.add(at + takes, (now) => {
      state = releaseSlot(policy, currentState(now), now, slot, 'answered')
      if (admitted) return
      throttled += 1
      state = recordThrottle(policy, state, now, slot, world.retryAfterMs ?? 60_000)
    })
  }

  world.processes.forEach((bursts, process) => {
    const waiting = new Map<string, { ask: PendingRequest; left: number }>()
    let timer = 0
    const serve = (now: number): void => {
      const kinds = [...waiting.entries()].filter(([, kind]) => kind.left > 0).sort(([a], [b]) => (a < b ? -1 : 1))
      if (kinds.length === 0) return
      const asks = kinds.map(([, kind]) => kind.ask)
      const { state: next, decision } = acquireSlot(policy, currentState(now), now, `process ${process}`, asks)
      state = next
      const mine = ++timer
      if ('waitMs' in decision) {
        // A timer fires late, never early.
        events.add(now + decision.waitMs + random() * 2, (later) => mine === timer && serve(later))
        return
      }
      const kind = kinds[decision.granted]![1]
      kind.left -= 1
      send(now, kind.ask, decision.slot, process)
      events.add(now + 0.2, (later) => mine === timer && serve(later))
    }
    for (const { at, lane, write, count } of bursts) {
      events.add(at, (now) => {
        const key = `${['write', 'fresh', 'backfill', 'verify'].indexOf(lane)} ${write ? 0 : 1}`
        waiting.set(key, { ask: { priority: lane, write, deadlineMs }, left: (waiting.get(key)?.left ?? 0) + count })
        serve(now)
      })
    }
  })
  for (const at of world.foreign ?? []) events.add(at, (now) => void count(now))
  for (const at of world.recordLosses ?? [])
    events.add(at, () => {
      lost = true
    })

  events.play(world.untilMs)
  return { sent, counted, countedWrites, refused, throttled, state }
}

/** The most moments that any window of so many milliseconds holds. `moments` in order. */
export function maxInWindow(moments: readonly number[], windowMs: number): number {
  let from = 0
  let best = 0
  moments.forEach((at, index) => {
    while (moments[from]! <= at - windowMs) from += 1
    best = Math.max(best, index - from + 1)
  })
  return best
}

export function countBetween(moments: readonly number[], from: number, to: number): number {
  return moments.filter((at) => at >= from && at < to).length
}

type AgendaEvent = { readonly at: number; readonly order: number; readonly what: (now: number) => void }

/** Things to come, in the order of their times; those of one time in the order in which they were added. */
function createEventQueue() {
  const heap: AgendaEvent[] = []
  let order = 0
  const before = (a: AgendaEvent, b: AgendaEvent) => a.at < b.at || (a.at === b.at && a.order < b.order)
  const add = (at: number, what: (now: number) => void) => {
    let place = heap.push({ at, order: order++, what }) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!before(heap[place]!, heap[parent]!)) break
      ;[heap[place], heap[parent]] = [heap[parent]!, heap[place]!]
      place = parent
    }
  }
  const next = (): AgendaEvent | undefined => {
    const top = heap[0]
    const last = heap.pop()
    if (last === undefined || last === top) return top
    heap[0] = last
    for (let place = 0; ; ) {
      const left = 2 * place + 1
      const right = left + 1
      let least = place
      if (left < heap.length && before(heap[left]!, heap[least]!)) least = left
      if (right < heap.length && before(heap[right]!, heap[least]!)) least = right
      if (least === place) return top
      ;[heap[place], heap[least]] = [heap[least]!, heap[place]!]
      place = least
    }
  }
  const play = (untilMs: number) => {
    for (let happening = next(); happening !== undefined && happening.at <= untilMs; happening = next())
      happening.what(happening.at)
  }
  return { add, play }
}
