/**
 * What people decide about write-backs and batches, which commands, pages, roles and words follow.
 */
import type { DecisionRecord } from './decision-terms.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'

/** In the order of their buttons: what cannot wait comes first. */
const table = {
  undo: {
    event: 'approval_undone',
    about: 'writebacks',
    from: ['queued'],
    to: 'draft',
    unexpectedlyLeft: 'queued',
    isOfferedForBatch: ({ undoUntil }) => undoUntil !== null,
    isOfferedForWriteback: ({ undoUntil }) => undoUntil !== null,
    role: 'approver',
    taken: 'anyway',
    isUsual: true,
    label: 'Undo the approval',
    title: 'Undo the approval of',
    made: 'back to draft',
    logged: 'approval undone',
    audited: 'approval_undone',
    selection: 'give ids, or --batch, or --all',
  },
  stop: {
    event: 'stopped',
    about: 'batch',
    from: ['queued'],
    to: 'draft',
    isOfferedForBatch: ({ counts, isStopped }) => has(counts, 'queued') && !isStopped,
    role: 'approver',
    taken: 'anyway',
    isUsual: true,
    label: 'Stop',
    title: 'Stop',
    made: 'back to draft',
    logged: 'stopped',
    audited: 'stopped',
  },
  approve: {
    event: 'approved',
    about: 'writebacks',
    from: ['draft'],
    to: 'queued',
    unexpectedlyLeft: 'draft',
    isOfferedForBatch: ({ counts, isStopped }) => has(counts, 'draft') && !isStopped,
    isOfferedForWriteback: ({ stoppedBy }) => stoppedBy === null,
    role: 'approver',
    taken: 'confirmed',
    isUsual: true,
    label: 'Approve…',
    title: 'Approve',
    made: 'queued',
    logged: 'approved',
    audited: 'approved',
    selection: 'give ids, or --batch, or --all',
  },
  resume: {
    event: 'resumed',
    about: 'batch',
    from: ['draft', 'queued'],
    to: 'queued',
    isOfferedForBatch: ({ counts, isStopped }) => isStopped && has(counts, 'draft'),
    role: 'approver',
    taken: 'confirmed',
    isUsual: true,
    label: 'Go on…',
    title: 'Go on with',
    made: 'queued',
    logged: 'resumed',
    audited: 'resumed',
  },
  cancel: {
    event: 'cancelled',
    about: 'writebacks',
    from: ['draft', 'queued'],
    to: 'cancelled',
    unexpectedlyLeft: 'sending',
    isOfferedForBatch: ({ counts }) => has(counts, 'draft', 'queued'),
    role: 'approver',
    roleForOwn: { status: 'draft', role: 'operator' },
    taken: 'confirmed',
    isStopping: true,
    label: 'Cancel…',
    title: 'Cancel',
    made: 'cancelled',
    logged: 'cancelled',
    audited: 'cancelled',
    selection: 'give ids, or --batch, or --all',
  },
  retry: {
    event: 'retried',
    about: 'writebacks',
    from: ['failed', 'conflict', 'cancelled', 'expired'],
    to: 'queued',
    // A person looks at a conflict first, and brings back by itself what was withheld.
    fromInBatch: { shown: ['failed', 'conflict'], unseen: ['failed'] },
    isOfferedForBatch: ({ counts }) => has(counts, 'failed', 'conflict'),
    role: 'operator',
    // They were withheld, perhaps before anyone had approved them.
    roleForStatuses: { statuses: ['cancelled', 'expired'], role: 'approver' },
    roleIfMayHaveArrived: 'approver',
    taken: 'confirmed',
    label: 'Retry…',
    title: 'Retry',
    made: 'to be retried',
    logged: 'retried',
    audited: 'retried',
    selection: 'give ids, or --batch, or --status failed',
  },
  arrived: {
    event: 'arrived',
    about: 'writebacks',
    from: ['uncertain'],
    to: 'succeeded',
    role: 'operator',
    taken: 'as shown',
    label: 'It arrived',
    title: 'Record as arrived',
    made: 'recorded as arrived',
    logged: 'marked as arrived',
    audited: 'said_it_arrived',
    selection: 'give ids',
  },
  lost: {
    event: 'lost',
    about: 'writebacks',
    from: ['uncertain'],
    to: 'failed',
    role: 'operator',
    taken: 'as shown',
    label: 'It did not arrive',
    title: 'Record as not arrived',
    made: 'recorded as not arrived',
    logged: 'marked as lost',
    audited: 'said_it_did_not_arrive',
    selection: 'give ids',
  },
  revert: {
    event: null,
    about: 'batch',
    from: ['queued'],
    to: 'draft',
    isOfferedForBatch: ({ counts, revertible }) =>
      revertible > 0 && !has(counts, 'queued', 'sending'),
    role: 'approver',
    taken: 'anyway',
    label: 'Take back as drafts',
    title: 'Take back',
    made: 'queued as drafts',
    logged: 'taken back',
    audited: 'taken_back',
  },
  stop_all: {
    event: null,
    about: 'project',
    from: ['queued'],
    to: 'queued',
    isOfferedForSending: ({ isStopped }) => !isStopped,
    role: 'approver',
    taken: 'confirmed',
    isStopping: true,
    label: 'Stop all sending…',
    title: 'Stop all sending',
    made: 'stays queued',
    logged: 'stopped',
    audited: 'stopped_all_sending',
    consequence:
      'Nothing of any batch leaves until a person goes on. What is in flight cannot be ' +
      'called back; its outcome is found as always.',
  },
  resume_all: {
    event: null,
    about: 'project',
    from: ['queued'],
    to: 'queued',
    isOfferedForSending: ({ isStopped }) => isStopped,
    role: 'approver',
    taken: 'confirmed',
    isUsual: true,
    label: 'Go on sending…',
    title: 'Go on sending',
    made: 'is sent',
    logged: 'resumed',
    audited: 'resumed_all_sending',
    consequence:
      'What is queued is sent, at once. Batches that were stopped by themselves stay so.',
  },
  close_circuit: {
    event: null,
    about: 'project',
    from: ['queued'],
    to: 'queued',
    isOfferedForSending: ({ isCircuitOpen }) => isCircuitOpen,
    role: 'approver',
    taken: 'confirmed',
    isUsual: true,
    label: 'Send despite failures…',
    title: 'Send despite the failures',
    made: 'is sent',
    logged: 'circuit breaker closed',
    audited: 'closed_circuit_breaker',
    consequence:
      'Replies and notes are sent at once. The circuit breaker opens again if the next ' +
      'ones fail in a row, too.',
  },
} as const satisfies Readonly<Record<string, DecisionRecord>>

export type DecisionName = keyof typeof table
type NameOf<Condition> = {
  [D in DecisionName]: (typeof table)[D] extends Condition ? D : never
}[DecisionName]

/** The events that people cause for selected write-backs, and for a whole batch. */
export type OutboxDecision = (typeof table)[NameOf<{ about: 'writebacks' }>]['event']
export type BatchDecision = (typeof table)[NameOf<{ about: 'batch'; event: string }>]['event']

/** About all sending of a project. */
export type ProjectDecision = NameOf<{ about: 'project' }>

export const decisions: {
  readonly [D in DecisionName]: DecisionRecord & Pick<(typeof table)[D], 'event' | 'about'>
} = table
export const decisionNames = Object.keys(table) as readonly DecisionName[]

export function isDecision(name: string | null): name is DecisionName {
  return decisionNames.some((known) => known === name)
}

export function isAboutProject(name: DecisionName): name is ProjectDecision {
  return decisions[name].about === 'project'
}

export function decisionOf(event: OutboxDecision | BatchDecision): DecisionRecord {
  const found = Object.values(decisions).find((decision) => decision.event === event)
  if (found === undefined) throw new Error(`no decision causes ${event}`)
  return found
}

function has(counts: StatusCounts, ...statuses: readonly WritebackStatus[]): boolean {
  return statuses.some((status) => (counts[status] ?? 0) > 0)
}

/** The statuses that a decision changes on a page. */
export function changedStatuses(
  decision: DecisionName,
  isByIds: boolean,
): readonly WritebackStatus[] {
  const { from, fromInBatch }: DecisionRecord = decisions[decision]
  return isByIds || fromInBatch === undefined ? from : fromInBatch.shown
}
