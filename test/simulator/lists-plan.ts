/**
 * A plan whose service has lists of every kind, several pages long, and whose syncs are ended at
 * any request.
 */
import { type PageOrder, pageOrders, type Switches } from '../../src/sandbox/switches.ts'
import { createPlan, type Plan, windowMs } from './plan.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * In pages as small as these, no order and a wrong one look the same; the tests of interrupted
 * readings have larger ones.
 */
const sortedOrders = pageOrders.filter(
  (order) => !order.startsWith('any') && !order.endsWith('shuffled'),
)

const undisturbed = {
  interruptionRate: 0,
  crashRate: 0,
  transactionCrashRate: 0,
  suspendRate: 0,
  terminationRate: 0,
  networkFaultRate: 0,
}

/** `isDisturbed`: false for the same world without anything that ends a run early. */
export function createListsPlan(scheduler: Scheduler, isDisturbed: boolean): Plan {
  const { int, pick } = scheduler
  const plan = createPlan(scheduler)
  // One at a time, because one can hide another.
  const unusual = pick([
    'none',
    'order',
    'order',
    'bounds',
    'hasMore',
    'undated',
    'handled',
    'misdated',
    'late',
    'late',
    'busy',
    'busy',
    'busy',
    'window',
    'deleted',
    'cut',
    'cut',
  ])
  const isCut = unusual === 'cut'
  const isLate = unusual === 'late'
  const isBusy = unusual === 'busy'
  const choose = <const T>(
    what: typeof unusual,
    others: readonly [T, ...T[]],
    usual: readonly [T, ...T[]],
  ): T => pick(unusual === what ? others : usual)
  const bound = (...usual: ['inclusive', 'exclusive'] | ['exclusive', 'inclusive']) =>
    choose<Switches['calls.to']>('bounds', ['ignored', 'ignored', ...usual], usual)
  const order = (...usual: [PageOrder, ...PageOrder[]]) =>
    choose<PageOrder>('order', ['newest', 'newest-ascending', ...sortedOrders], usual)
  const switches: Partial<Switches> = {
    content: 'plain',
    'rate.limit': 100,
    'rate.writes': 40,
    'rate.window': windowMs / 1000,
    // Far smaller than the reader asks for, so that few rows have several pages.
    'pages.size': isCut ? 0 : int(isBusy ? 3 : 2, 5),
    'conversations.order': order('oldest'),
    'conversations.bound': bound('inclusive', 'exclusive'),
    'conversations.handled': choose('handled', ['open', 'handled'], ['all']),
    'visitors.order': order('oldest'),
    'visitors.bound': bound('inclusive', 'exclusive'),
    'calls.order': order('oldest', 'newest'),
    'calls.from': bound('inclusive', 'exclusive'),
    'calls.to': bound('inclusive', 'exclusive'),
    'calls.range': pick(['optional', 'optional', 'required']),
    'calls.window': choose('window', [1, 2, 7], [0]),
    'messages.paging': isCut ? pick(['all', 'before', 'limit']) : pick(['since', 'before', 'all']),
    'messages.order': isCut
      ? pick(['newest', 'newest-ascending'])
      : pick(['oldest', 'newest', 'newest-ascending']),
    'messages.most': isCut ? int(10, 14) : 0,
    'messages.bound': choose('bounds', ['refused', 'ignored'], ['inclusive', 'exclusive']),
    // If short pages claimed to be the last, or all claimed not to be, nothing could show which
    // are.
    hasMore: choose('hasMore', ['full'], ['exact']),
    'undated.share': choose('undated', [0.3, 0.6], [0]),
    'undated.of': 'conversations,visitors,calls',
    'undated.end': pick(['newest', 'oldest']),
    'misdated.share': choose('misdated', [0.4, 1], [0]),
    'misdated.of': 'messages',
    'misdated.seconds': -7200,
    'misdated.last': 'real',
    'late.share': choose('late', [0.5], [0]),
    'late.seconds': int(5, 40),
    'late.of': 'visitors,conversations,calls',
    'query.unknown': pick(['ignored', 'rejected']),
  }
  const rows = isBusy
    ? { conversations: int(1, 2), visitors: int(8, 12), calls: int(0, 2) }
    : {
        conversations: isCut ? 12 : int(1, 9),
        visitors: int(isLate ? 6 : 1, 12),
        calls: int(0, 12),
      }
  const messagesPerConversation: [number, number] = [1, isCut ? 30 : int(1, 6)]
  return {
    ...plan,
    focus: 'lists',
    limits: { requests: 100, writes: 40 },
    size: { ...rows, messagesPerConversation, activityPerVisitor: 0, days: 3 },
    switches,
    pushers: 0,
    readers: 0,
    writebacks: 0,
    decisions: 0,
    budgetLosses: 0,
    syncers: 1,
    slowReadShare: 0,
    latencyMs: pick([5, 50, 400]),
    ...(isBusy ? rareRuns(scheduler) : isLate ? frequentRuns(scheduler) : fewRuns(scheduler)),
    ...(isDisturbed ? {} : undisturbed),
    hidesRows: unusual === 'undated' || unusual === 'handled',
    unusual,
    deletesMessages: unusual === 'deleted',
    endsWithReconcile: true,
    setsClock: false,
  }
}

/** Each has to catch up on several rows, is ended amid a transaction, and none repairs another. */
const rareRuns = ({ int }: Scheduler) => ({
  activeMs: 7_200_000,
  pauseMs: 1_800_000,
  changes: int(15, 25),
  newVisitorShare: 0.7,
  reconcileShare: 0,
  transactionCrashRate: 0.02,
})

/** Some rows that came in between are visible only after later ones. */
const frequentRuns = ({ int }: Scheduler) => ({
  activeMs: 60_000,
  changes: int(8, 16),
  newVisitorShare: 0.7,
  reconcileShare: 0,
  interruptionRate: 0.02,
})

const fewRuns = ({ int, chance, pick }: Scheduler) => ({
  activeMs: int(4000, 12_000),
  changes: chance(0.5) ? int(1, 4) : 0,
  reconcileShare: pick([0.15, 0.5]),
  interruptionRate: pick([0.05, 0.2, 0.5]),
})
