/**
 * What a seed decides before anything runs: the size of the world, the service's habits, and how
 * many faults there are.
 */

import type { FaultKind } from '../../src/sandbox/faults.ts'
import type { SandboxOptions } from '../../src/sandbox/memory-sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import type { Ms } from '../../src/values/time.ts'
import type { Scheduler } from './scheduler.ts'
import type { Delivery } from './simulated-network.ts'

export type Plan = ReturnType<typeof createPlan>

export const windowMs: Ms = 10_000
export const lookBackMs: Ms = 60_000
export const verifyAfterMs: Ms = 4000

/** Each kind of fault is absent from some schedules, because one can hide another. */
export function createPlan(scheduler: Scheduler) {
  const { int, chance, pick } = scheduler
  const usually = (share: number, value: number, otherwise: number) =>
    chance(share) ? value : otherwise
  const limits = pick<{ readonly requests: number; readonly writes: number }>([
    { requests: 10, writes: 3 },
    { requests: 20, writes: 6 },
    { requests: 100, writes: 40 },
  ])
  const focus = pick(['both', 'mirror', 'outbox', 'budget'])
  const hasPush = focus === 'both' || focus === 'outbox'
  const hasSync = focus === 'both' || focus === 'mirror'
  return {
    limits,
    /**
     * What the schedule is about: fewer processes, and no part that could repair what another
     * breaks.
     */
    focus: focus as 'both' | 'mirror' | 'outbox' | 'budget' | 'lists',
    size: {
      conversations: int(2, 3),
      visitors: 2,
      calls: int(0, 2),
      messagesPerConversation: [1, int(1, 4)],
      activityPerVisitor: 0,
      days: 3,
    } as NonNullable<SandboxOptions['size']>,
    switches: {
      content: 'plain',
      'rate.kind': pick(['sliding', 'fixed']),
      'rate.limit': limits.requests,
      'rate.writes': limits.writes,
      'rate.window': windowMs / 1000,
      'conversations.bound': pick(['inclusive', 'exclusive']),
      'conversations.order': pick(['oldest', 'newest']),
      'messages.order': pick(['oldest', 'newest']),
      'writes.body': pick(['row', 'id', 'nothing']),
      'reply.text': pick(['as-sent', 'as-sent', 'trimmed', 'signed', 'translated']),
      'late.share': usually(focus === 'mirror' ? 0.6 : 0.3, 0.5, 0),
      'late.seconds': int(5, 40),
      'late.of': pick(['visitors', 'visitors,conversations,calls']),
    } as Partial<Switches>,
    // Reading alone is cheap to simulate, and shows something only after some windows.
    activeMs: focus === 'budget' ? int(20_000, 40_000) : int(4000, 12_000),
    /** Between two runs, at most. */
    pauseMs: 10_000,
    pushers: hasPush ? usually(0.4, 2, 1) : 0,
    syncers: hasSync ? usually(0.25, 2, 1) : 0,
    readers: focus === 'budget' ? int(2, 3) : 0,
    writebacks: !hasPush ? 0 : focus === 'outbox' ? int(3, 7) : int(1, 5),
    changes: focus === 'mirror' ? int(4, 10) : int(1, 4),
    /** Only visitors have no other list that shows what a sync has missed. */
    newVisitorShare: 0.3,
    decisions: usually(0.3, 1, 0),
    hasContainers: chance(0.2),
    crashRate: usually(0.7, pick([0.001, 0.004, 0.015]), 0),
    /** Of the statements of a transaction, beside these: what it has begun is not committed. */
    transactionCrashRate: 0,
    suspendRate: usually(0.3, pick([0.0005, 0.002]), 0),
    /** How often a run ends at a request. */
    interruptionRate: 0,
    /** Which syncs are reconciliations. */
    reconcileShare: 0.15,
    /** What the lists do that most services do not. */
    unusual: 'none',
    /** Messages are deleted, which an incremental run does not show. */
    deletesMessages: false,
    /** Requests with a bound do not show all rows, so that incremental runs need not notice. */
    hidesRows: false,
    terminationRate: usually(0.3, 0.3, 0),
    networkFaultRate: usually(
      0.8,
      focus === 'outbox' ? pick([0.1, 0.3]) : pick([0.03, 0.1, 0.3]),
      0,
    ),
    /** Writes are few among the requests. */
    writeFaultRate: usually(focus === 'outbox' ? 0.6 : 0.2, 0.5, 0),
    latencyMs: focus === 'budget' ? pick([400, 2000, 3000]) : pick([5, 50, 400, 2000]),
    /** Answers to reads that come only after what others have written meanwhile. */
    slowReadShare: focus === 'both' ? 0.3 : 0,
    endsWithReconcile: chance(0.3),
    budgetLosses: focus === 'budget' ? usually(0.5, 4, 0) : usually(0.25, 1, 0),
    setsClock: chance(0.15),
  }
}

const faults: readonly [FaultKind, ...FaultKind[]] = [
  'error-500',
  'error-500-after',
  'html-502-after',
  'busy-503',
  'busy-503-retry-after',
  'truncated',
  'not-json',
  'foreign-429',
]

/** Answers that take long are rare, as everything polls meanwhile. */
export function chooseDelivery(
  { random, chance, pick, int }: Scheduler,
  plan: Plan,
  { isCalm, isWrite }: { readonly isCalm: boolean; readonly isWrite: boolean },
): Delivery {
  const latency = () => Math.round(plan.latencyMs * (isCalm ? 0.2 : 1) * -Math.log(1 - random()))
  const delivery: Delivery = { fault: null, lost: null, outMs: latency(), backMs: latency() }
  const faultRate = Math.max(plan.networkFaultRate, isWrite ? plan.writeFaultRate : 0)
  if (!isCalm && !isWrite && chance(plan.slowReadShare))
    return { ...delivery, backMs: int(1000, 9000) }
  if (isCalm || !chance(faultRate)) return delivery
  if (chance(0.4)) return { ...delivery, fault: pick(faults) }
  if (chance(0.2)) return { ...delivery, [pick(['outMs', 'backMs'])]: int(1000, 9000) }
  const lost = chance(0.1) ? 'silence' : pick(['connect', 'request', 'response', 'response'])
  return { ...delivery, lost }
}
