/** The budget as the calls of one process see it: they queue by lane, the first of each queue asks the store, and waits as told. */
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import { type Ask, grantLastsMs, type Lease, type Spent } from '../core/budget/budget.ts'
import type { BudgetStore } from '../core/budget/store.ts'
import { CallFailed } from '../core/failure.ts'
import { type Lane, lanes } from '../core/lane.ts'
import type { BudgetView } from '../core/report.ts'
import type { Ms } from '../core/time.ts'

export type Budget = {
  /** Waits for a slot. Throws CallFailed (aborted) as soon as the signal says so. */
  readonly acquire: (want: Want) => Promise<Grant>
  /** The service answered (a 429 too). Never fails: a slot that is not given back comes back by itself, only later. */
  readonly answered: (lease: Lease) => void
  /** No byte of the request left. Never fails either. */
  readonly unsent: (lease: Lease) => void
  /** The answer was a 429: everybody who uses the key rests so long. */
  readonly throttled: (lease: Lease, waitMs: Ms) => Promise<void>
  /** Requests that other processes made just before this one started. */
  readonly seed: (spent: Spent) => Promise<void>
  readonly view: () => Promise<BudgetView>
  /** Milliseconds until so many more requests may have been sent. */
  readonly forecast: (requests: number) => Promise<Ms>
}

/** `deadlineMs`: how long the exchange can take at most. */
export type Want = {
  readonly lane: Lane
  readonly write: boolean
  readonly deadlineMs: Ms
  readonly signal?: AbortSignal
}

/** `leftMs`: until the deadline, by a clock that goes on while this process is stopped, or the machine sleeps; below 0 after it. */
export type Grant = Lease & { readonly leftMs: () => Ms }

type Waiter = {
  readonly ask: Ask
  readonly go: (grant: Grant) => void
  readonly fail: (why: unknown) => void
}

/**
 * `holder` names this process among those that share the store. `monotonic`: milliseconds of a clock that goes on while
 * the machine sleeps.
 */
export function createBudget(
  store: BudgetStore,
  holder: string = randomUUID(),
  monotonic: () => Ms = () => uptime() * 1000,
): Budget {
  const queues = new Map<string, Set<Waiter>>()
  let asking = false
  let wake = () => {}

  const giveBack = (lease: Lease, ending: 'answered' | 'unsent') => {
    store.settle(lease, ending).then(
      () => ending === 'unsent' && wake(),
      () => {},
    )
  }

  async function serve(): Promise<void> {
    if (asking) return
    asking = true
    try {
      for (let heads = headsOf(queues); heads.length > 0; heads = headsOf(queues)) await serveOne(heads)
    } catch (error) {
      for (const queue of queues.values()) for (const waiter of queue) waiter.fail(error)
      queues.clear()
    } finally {
      asking = false
    }
  }

  async function serveOne(heads: readonly Waiter[]): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    // Before asking: the lease cannot have begun earlier.
    const askedAt = monotonic()
    const decision = await store.take(
      holder,
      heads.map((head) => head.ask),
    )
    if ('waitMs' in decision) return rest(decision.waitMs, woken)
    const head = heads[decision.granted]
    const queue = head && queues.get(queueOf(head.ask))
    // Whoever asked may have given up meanwhile: the next in its queue goes instead.
    const next = queue?.values().next().value
    const age = () => monotonic() - askedAt
    if (next === undefined || age() > grantLastsMs) return giveBack(decision.lease, 'unsent')
    queue?.delete(next)
    next.go({ ...decision.lease, leftMs: () => next.ask.deadlineMs - age() })
  }

  function acquire({ lane, write, deadlineMs, signal }: Want): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new CallFailed({ kind: 'aborted' }))
      const ask: Ask = { lane, write, deadlineMs }
      const queue = queues.get(queueOf(ask)) ?? new Set()
      const giveUp = () => {
        queue.delete(waiter)
        wake()
        reject(new CallFailed({ kind: 'aborted' }))
      }
      const waiter: Waiter = {
        ask,
        go: (grant) => {
          signal?.removeEventListener('abort', giveUp)
          resolve(grant)
        },
        fail: (why) => {
          signal?.removeEventListener('abort', giveUp)
          reject(why)
        },
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      queues.set(queueOf(ask), queue.add(waiter))
      // Only the first of a queue can change what is asked for.
      if (queue.size === 1) wake()
      void serve()
    })
  }

  return {
    acquire,
    answered: (lease) => giveBack(lease, 'answered'),
    unsent: (lease) => giveBack(lease, 'unsent'),
    throttled: (lease, waitMs) => store.throttle(lease, waitMs),
    seed: (spent) => store.seed(spent),
    view: () => store.view(),
    forecast: (requests) => store.forecast(requests),
  }
}

function queueOf(ask: Ask): string {
  return `${lanes.indexOf(ask.lane)} ${ask.write ? 'write' : 'read'}`
}

/** The first of each queue, most urgent lane first, and writes before the reads of their lane. */
function headsOf(queues: ReadonlyMap<string, ReadonlySet<Waiter>>): readonly Waiter[] {
  const heads = [...queues.values()].flatMap((queue) => queue.values().next().value ?? [])
  const rank = ({ ask }: Waiter) => lanes.indexOf(ask.lane) * 2 + (ask.write ? 0 : 1)
  return heads.sort((a, b) => rank(a) - rank(b))
}

async function rest(ms: Ms, woken: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([slept, woken])
  clearTimeout(timer)
}
