/**
 * The budget for the requests of one process: they queue by priority, and the first of each queue
 * request slots. Slots are released with the next request for one: each update is a write.
 */
import { randomUUID } from 'node:crypto'
import type { Ms } from '../../values/time.ts'
import { grantTtlMs, type PendingRequest } from '../core/acquire-slot.ts'
import { ApiError } from '../core/api-failure.ts'
import { priorities } from '../core/api-request.ts'
import type { Slot } from '../core/budget.ts'
import { countAnswer, lowerLimit, noInFlightLimit, raiseLimit } from '../core/in-flight-limit.ts'
import { type BudgetStore, uptimeMs } from './budget-store.ts'

export type RequestBudget = ReturnType<typeof createRequestBudget>

/** `remainingMs`: to the deadline, by a clock that runs while this process is suspended; or < 0. */
export type Grant = Slot & { readonly remainingMs: () => Ms }

type QueuedRequest = { readonly request: PendingRequest } & Omit<
  PromiseWithResolvers<Grant>,
  'promise'
>

const ignoreError = () => {}

/** `processId`: names this process in the store. `now`: a clock like `uptimeMs`. */
export function createRequestBudget(
  store: BudgetStore,
  processId: string = randomUUID(),
  now = uptimeMs,
) {
  const queues = new Map<string, Set<QueuedRequest>>()
  const releases = createDelayedReleases(store)
  const inFlight = createInFlight(now)
  let isServing = false
  let wakeUp = () => {}

  const releaseUnsent = (slot: Slot) =>
    void store.release(slot, 'unsent').then(() => wakeUp(), ignoreError)

  async function serveQueues(): Promise<void> {
    if (isServing) return
    isServing = true
    try {
      for (let heads = queueHeads(queues); heads.length > 0; heads = queueHeads(queues))
        await serveNext(heads)
    } catch (error) {
      for (const queue of queues.values()) for (const queued of queue) queued.reject(error)
      queues.clear()
    } finally {
      isServing = false
    }
  }

  async function serveNext(heads: readonly QueuedRequest[]): Promise<void> {
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>()
    wakeUp = wake
    const spare = inFlight.spare()
    if (spare < 1) return waitFor(woken, fullPollMs, wake)
    // Taken before the request: the slot cannot have been granted earlier.
    const requestedAt = now()
    void releases.flush()
    const pending = heads.map(({ request }) => request)
    const decisions = await Promise.all(
      Array.from({ length: countAsked(queues, spare) }, () => store.acquire(processId, pending)),
    )
    const waits = decisions.flatMap((decision) => {
      if (!('slot' in decision)) return decision.waitMs
      grantNext(pending[decision.granted], decision.slot, requestedAt)
      return []
    })
    if (waits.length === decisions.length) await waitFor(woken, Math.min(...waits), wake)
  }

  function grantNext(request: PendingRequest | undefined, slot: Slot, requestedAt: Ms): void {
    const queue = request && queues.get(queueName(request))
    // The request may have been aborted meanwhile: the next in its queue goes instead.
    const next = queue?.values().next().value
    if (next === undefined || now() - requestedAt > grantTtlMs) {
      releaseUnsent(slot)
      return
    }
    queue?.delete(next)
    const deadline = requestedAt + next.request.maxDurationMs
    const grant = { ...slot, remainingMs: () => deadline - now() }
    inFlight.add(grant, deadline)
    next.resolve(grant)
  }

  async function acquire({
    signal,
    ...request
  }: PendingRequest & { readonly signal?: AbortSignal }): Promise<Grant> {
    if (signal?.aborted) throw new ApiError({ kind: 'aborted' })
    const queue = queues.get(queueName(request)) ?? new Set()
    queues.set(queueName(request), queue)
    // Only the first of a queue changes the set of pending requests.
    if (queue.size === 0) wakeUp()
    const granted = enqueueRequest(queue, request, signal, () => wakeUp())
    void serveQueues()
    return granted
  }

  return {
    /** Waits for a slot. Throws ApiError (aborted) as soon as the signal is aborted. */
    acquire,
    /** Also with a 429. Never fails: a slot that cannot be released expires later. */
    releaseResponded: (slot: Slot) => {
      inFlight.end(slot)
      releases.add(slot)
      wakeUp()
    },
    /** No response will come. The slot stays taken, as the service may have counted the request. */
    endUnanswered: (slot: Slot) => {
      inFlight.remove(slot)
      wakeUp()
    },
    /** No byte of the request was sent. Never fails either. */
    releaseUnsent: (slot: Slot) => {
      inFlight.remove(slot)
      releaseUnsent(slot)
    },
    /** A 429: the key pauses for `waitMs`, and fewer are sent side by side if that recurs. */
    recordThrottle: (slot: Slot, waitMs: Ms) => {
      inFlight.recordThrottle(slot, waitMs)
      return store.recordThrottle(slot, waitMs)
    },
    view: store.view,
    /** Releases the slots that wait for that, before the store is closed. Never fails. */
    flush: releases.flush,
  }
}

function waitFor(woken: Promise<void>, waitMs: Ms, wake: () => void): Promise<void> {
  const timer = setTimeout(wake, waitMs)
  return woken.finally(() => clearTimeout(timer))
}

/** How often it looks whether a request that gets no response has passed its deadline. */
const fullPollMs: Ms = 500

/** Granted, without a response yet, until their deadline. */
function createInFlight(now: () => Ms) {
  const deadlines = new Map<Slot, Ms>()
  const besideOf = new WeakMap<object, number>()
  let limit = noInFlightLimit
  return {
    /** How many more may be granted. */
    spare: (): number => {
      const at = now()
      for (const [slot, deadline] of deadlines) if (deadline <= at) deadlines.delete(slot)
      limit = raiseLimit(limit, at)
      return limit.most - deadlines.size
    },
    add: (slot: Slot, deadline: Ms): void => {
      deadlines.set(slot, deadline)
      besideOf.set(slot, deadlines.size)
    },
    remove: (slot: Slot): void => void deadlines.delete(slot),
    end: (slot: Slot): void => {
      deadlines.delete(slot)
      limit = countAnswer(limit)
    },
    recordThrottle: (slot: Slot, waitMs: Ms): void => {
      limit = lowerLimit(limit, now(), besideOf.get(slot) ?? 1, waitMs)
    },
  }
}

function enqueueRequest(
  queue: Set<QueuedRequest>,
  request: PendingRequest,
  signal: AbortSignal | undefined,
  onRemoved: () => void,
): Promise<Grant> {
  const { promise, ...resolvers } = Promise.withResolvers<Grant>()
  const queued: QueuedRequest = { request, ...resolvers }
  const onAbort = () => {
    queue.delete(queued)
    onRemoved()
    queued.reject(new ApiError({ kind: 'aborted' }))
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  queue.add(queued)
  return promise.finally(() => signal?.removeEventListener('abort', onAbort))
}

/** So many slots are asked for at once, as a store may be far away. */
const maxAsked = 8

/** No more than the shortest queue has, as any of them may get all. */
function countAsked(
  queues: ReadonlyMap<string, ReadonlySet<QueuedRequest>>,
  spare: number,
): number {
  const lengths = [...queues.values()].map(({ size }) => size).filter((size) => size > 0)
  return Math.max(1, Math.min(maxAsked, spare, ...lengths))
}

function queueName(request: PendingRequest): string {
  return `${priorities.indexOf(request.priority)} ${request.write ? 'write' : 'read'}`
}

/** Most urgent priority first, and writes before the reads of their priority. */
function queueHeads(
  queues: ReadonlyMap<string, ReadonlySet<QueuedRequest>>,
): readonly QueuedRequest[] {
  const heads = [...queues.values()].flatMap((queue) => queue.values().next().value ?? [])
  const rank = ({ request }: QueuedRequest) =>
    priorities.indexOf(request.priority) * 2 + (request.write ? 0 : 1)
  return heads.sort((a, b) => rank(a) - rank(b))
}

/** For so long a slot waits to be released together with others, or with the next request. */
const releaseDelayMs: Ms = 25

function createDelayedReleases({ release }: Pick<BudgetStore, 'release'>) {
  let responded: Slot[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const slots = responded
    responded = []
    await Promise.all(slots.map((slot) => release(slot, 'responded').catch(() => {})))
  }
  const add = (slot: Slot): void => {
    responded.push(slot)
    timer ??= setTimeout(() => void flush(), releaseDelayMs)
  }
  return { add, flush }
}
