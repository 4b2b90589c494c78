/** The budget as the calls of one process see it: they queue by lane, the first of each queue asks the store, and waits as told. */
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import { type PendingRequest, grantTtlMs, type Slot, type PriorUsage } from '../../core/rate-limit/budget.ts'
import type { BudgetStore } from '../../core/rate-limit/budget-store.ts'
import { ApiError } from '../../core/api-failure.ts'
import { type Priority, priorities } from '../../core/rate-limit/priority.ts'
import type { BudgetView } from '../../core/report.ts'
import type { Ms } from '../../core/time.ts'

export type RequestBudget = {
  /** Waits for a slot. Throws CallFailed (aborted) as soon as the signal says so. */
  readonly acquire: (want: SlotRequest) => Promise<Grant>
  /** The service answered (a 429 too). Never fails: a slot that is not given back comes back by itself, only later. */
  readonly releaseAnswered: (lease: Slot) => void
  /** No byte of the request left. Never fails either. */
  readonly releaseUnsent: (lease: Slot) => void
  /** The answer was a 429: everybody who uses the key rests so long. */
  readonly recordThrottle: (lease: Slot, waitMs: Ms) => Promise<void>
  /** Requests that other processes made just before this one started. */
  readonly recordPriorUsage: (spent: PriorUsage) => Promise<void>
  readonly view: () => Promise<BudgetView>
  /** Milliseconds until so many more requests may have been sent. */
  readonly estimateSendMs: (requests: number) => Promise<Ms>
}

/** `deadlineMs`: how long the exchange can take at most. */
export type SlotRequest = {
  readonly priority: Priority
  readonly write: boolean
  readonly deadlineMs: Ms
  readonly signal?: AbortSignal
}

/** `leftMs`: until the deadline, by a clock that goes on while this process is stopped, or the machine sleeps; below 0 after it. */
export type Grant = Slot & { readonly remainingMs: () => Ms }

type QueuedRequest = {
  readonly request: PendingRequest
  readonly grant: (grant: Grant) => void
  readonly fail: (why: unknown) => void
}

/**
 * `holder` names this process among those that share the store. `monotonic`: milliseconds of a clock that goes on while
 * the machine sleeps.
 */
export function createRequestBudget(
  store: BudgetStore,
  holder: string = randomUUID(),
  monotonic: () => Ms = () => uptime() * 1000,
): RequestBudget {
  const queues = new Map<string, Set<QueuedRequest>>()
  let isServing = false
  let wakeUp = () => {}

  const release = (slot: Slot, ending: 'answered' | 'unsent') => {
    store.release(slot, ending).then(
      () => ending === 'unsent' && wakeUp(),
      () => {},
    )
  }

  async function serveQueues(): Promise<void> {
    if (isServing) return
    isServing = true
    try {
      for (let heads = queueHeads(queues); heads.length > 0; heads = queueHeads(queues)) await serveNext(heads)
    } catch (error) {
      for (const queue of queues.values()) for (const queued of queue) queued.fail(error)
      queues.clear()
    } finally {
      isServing = false
    }
  }

  async function serveNext(heads: readonly QueuedRequest[]): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      wakeUp = resolve
    })
    // Before asking: the lease cannot have begun earlier.
    const askedAt = monotonic()
    const decision = await store.acquire(
      holder,
      heads.map((head) => head.request),
    )
    if ('waitMs' in decision) return sleepUnlessWoken(decision.waitMs, woken)
    const head = heads[decision.granted]
    const queue = head && queues.get(queueName(head.request))
    // Whoever asked may have given up meanwhile: the next in its queue goes instead.
    const next = queue?.values().next().value
    const ageMs = () => monotonic() - askedAt
    if (next === undefined || ageMs() > grantTtlMs) return release(decision.lease, 'unsent')
    queue?.delete(next)
    next.grant({ ...decision.lease, remainingMs: () => next.request.deadlineMs - ageMs() })
  }

  function acquire({ priority, write, deadlineMs, signal }: SlotRequest): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new ApiError({ kind: 'aborted' }))
      const request: PendingRequest = { priority, write, deadlineMs }
      const queue = queues.get(queueName(request)) ?? new Set()
      const onAbort = () => {
        queue.delete(queued)
        wakeUp()
        reject(new ApiError({ kind: 'aborted' }))
      }
      const queued: QueuedRequest = {
        request,
        grant: (grant) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(grant)
        },
        fail: (why) => {
          signal?.removeEventListener('abort', onAbort)
          reject(why)
        },
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      queues.set(queueName(request), queue.add(queued))
      // Only the first of a queue can change what is asked for.
      if (queue.size === 1) wakeUp()
      void serveQueues()
    })
  }

  return {
    acquire,
    releaseAnswered: (slot) => release(slot, 'answered'),
    releaseUnsent: (slot) => release(slot, 'unsent'),
    recordThrottle: (slot, waitMs) => store.recordThrottle(slot, waitMs),
    recordPriorUsage: (usage) => store.recordPriorUsage(usage),
    view: () => store.view(),
    estimateSendMs: (requests) => store.estimateSendMs(requests),
  }
}

function queueName(request: PendingRequest): string {
  return `${priorities.indexOf(request.priority)} ${request.write ? 'write' : 'read'}`
}

/** The first of each queue, most urgent lane first, and writes before the reads of their lane. */
function queueHeads(queues: ReadonlyMap<string, ReadonlySet<QueuedRequest>>): readonly QueuedRequest[] {
  const heads = [...queues.values()].flatMap((queue) => queue.values().next().value ?? [])
  const rank = ({ request }: QueuedRequest) => priorities.indexOf(request.priority) * 2 + (request.write ? 0 : 1)
  return heads.sort((a, b) => rank(a) - rank(b))
}

async function sleepUnlessWoken(ms: Ms, woken: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([slept, woken])
  clearTimeout(timer)
}
