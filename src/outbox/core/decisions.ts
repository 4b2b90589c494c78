/** What people decide about write-backs and batches: one record each, which commands, pages, roles and words follow. Pure. */
import type { Role } from '../../config/people.ts'
import type { ProjectId } from '../../values/project.ts'
import type { Ms } from '../../values/time.ts'
import type { BatchReport } from './batches.ts'
import type { Operation } from './operations.ts'
import type { NamedEntry } from './outbox-entry.ts'
import type { OutboxEvent, StatusCounts, WritebackStatus } from './state.ts'

/** `undoUntil`: RFC 3339; null = no approval can be taken back. */
type BatchFacts = Pick<BatchReport, 'approval' | 'revertible'> & {
  readonly counts: StatusCounts
  readonly isStopped: boolean
  readonly undoUntil: string | null
}
/** Of all sending of the project. */
export type SendingFacts = { readonly isStopped: boolean; readonly isCircuitOpen: boolean }
type WritebackFacts = Pick<NamedEntry, 'stoppedBy'> & { readonly undoUntil: string | null }

type DecisionRecord = {
  /** Of the state machine; null if it changes no row itself. */
  readonly event: OutboxEvent | null
  /** Write-backs that are picked, a whole batch, or all sending of the project. */
  readonly about: 'writebacks' | 'batch' | 'project'
  /** The statuses of the rows that it changes, and the one that these get. */
  readonly from: readonly WritebackStatus[]
  readonly to: WritebackStatus
  /** Of a whole batch, if these are fewer: on a page, which shows the rows first, and without one. */
  readonly fromInBatch?: { readonly shown: readonly WritebackStatus[]; readonly unseen: readonly WritebackStatus[] }
  /** Rows that still have this status afterwards, although they were selected, are worth an exit code. */
  readonly unexpectedlyLeft?: WritebackStatus
  /** As it is now; without a rule, it is not offered. */
  readonly isOfferedForBatch?: (facts: BatchFacts) => boolean
  readonly isOfferedForSending?: (facts: SendingFacts) => boolean
  /** Beside its status. */
  readonly isOfferedForWriteback?: (facts: WritebackFacts) => boolean
  /** What customers see, or what stops it, needs an approver. Failures and uncertain outcomes are an operator's work. */
  readonly role: Role
  /** The role if it changes only one's own rows in this status. */
  readonly roleForOwn?: { readonly status: WritebackStatus; readonly role: Role }
  /** The role if it changes rows in one of these statuses. */
  readonly roleForStatuses?: { readonly statuses: readonly WritebackStatus[]; readonly role: Role }
  /** `confirmed`: a page lists the rows first. Both, unlike `anyway`, change nothing if what was shown has changed. */
  readonly taken: 'confirmed' | 'as shown' | 'anyway'
  /** People come for it; the others stand beside it. */
  readonly isUsual?: true
  /** On a button; those that ask for confirmation end with dots. */
  readonly label: string
  /** Before the number of write-backs. */
  readonly title: string
  /** After the number of write-backs, in a command's output and on a page. */
  readonly made: string
  /** Stored in the event log, before ` by NAME`. */
  readonly logged: string
  /** Stored in the audit log. */
  readonly audited: string
  /** What follows, on the page before it. */
  readonly consequence?: string
  /** How a command selects rows. */
  readonly selection?: string
}

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
    logged: 'approval taken back',
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
    isOfferedForBatch: ({ approval }) => approval !== null,
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
    taken: 'confirmed',
    label: 'Send again…',
    title: 'Send again',
    made: 'to be sent again',
    logged: 'queued again',
    audited: 'sent_again',
    selection: 'give ids, or --batch, or --status failed',
  },
  arrived: {
    event: 'arrived',
    about: 'writebacks',
    from: ['uncertain'],
    to: 'succeeded',
    role: 'operator',
    taken: 'as shown',
    isUsual: true,
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
    isOfferedForBatch: ({ counts, revertible }) => revertible > 0 && !has(counts, 'queued', 'sending'),
    role: 'approver',
    taken: 'anyway',
    label: 'Take back as drafts',
    title: 'Take back',
    made: 'queued as drafts',
    logged: 'taken back',
    audited: 'taken_back',
  },
  check: {
    event: null,
    about: 'batch',
    from: ['draft', 'queued'],
    to: 'draft',
    isOfferedForBatch: ({ counts }) => has(counts, 'draft', 'queued'),
    role: 'operator',
    taken: 'anyway',
    label: 'Check with the service',
    title: 'Check with the service',
    made: 'being checked',
    logged: 'checked',
    audited: 'checked_with_the_service',
  },
  stop_all: {
    event: null,
    about: 'project',
    from: ['queued'],
    to: 'queued',
    isOfferedForSending: ({ isStopped }) => !isStopped,
    role: 'approver',
    taken: 'confirmed',
    label: 'Stop all sending…',
    title: 'Stop all sending',
    made: 'stays queued',
    logged: 'stopped',
    audited: 'stopped_all_sending',
    consequence:
      'Nothing of any batch leaves until a person goes on. What is in flight cannot be called back; its outcome is found as always.',
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
    consequence: 'What is queued is sent, at once. Batches that were stopped by themselves stay so.',
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
      'The circuit breaker is closed: replies and notes are sent at once. It opens again if the next ones fail in a row, too.',
  },
} as const satisfies Readonly<Record<string, DecisionRecord>>

export type DecisionName = keyof typeof table
type NameOf<Condition> = { [D in DecisionName]: (typeof table)[D] extends Condition ? D : never }[DecisionName]

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
export function changedStatuses(decision: DecisionName, isByIds: boolean): readonly WritebackStatus[] {
  const { from, fromInBatch }: DecisionRecord = decisions[decision]
  return isByIds || fromInBatch === undefined ? from : fromInBatch.shown
}

/** Selects write-backs: a row must match every field that is given. */
export type OutboxFilter = {
  readonly ids?: readonly string[] | undefined
  readonly batch?: string | undefined
  readonly statuses?: readonly WritebackStatus[] | undefined
  readonly operations?: readonly Operation[] | undefined
  /** The id of the conversation or the visitor. */
  readonly target?: string | undefined
  /** Who approved it. */
  readonly approvedBy?: string
  /** What goes on if its stopped batch is resumed, so not the drafts that nobody has approved yet. */
  readonly isResumable?: true
  /** A cancellation also covers rows without a project. Only if a single project is configured. */
  readonly orWithoutProject?: boolean
}

/** What a person was shown before an approval: these rows, as the digest (or its beginning) names them. */
type ShownSelection = { readonly filter: OutboxFilter; readonly digest: string }

/** What a decision carries beside its selection. */
export type DecisionTerms = {
  /** Who decides. */
  readonly by: string
  /** `approved`: the rows leave no earlier than this much later, and the approval can be taken back until then. */
  readonly graceMs?: Ms
  /** `approved`: whether a person may approve what the same person queued. */
  readonly approveOwn?: boolean
  /** What was shown; if the digest names other rows now, nothing is decided. */
  readonly shown?: ShownSelection
  /** What the audit log of the console says of it, in the same transaction; without it, only the event log does. */
  readonly audit?: (count: number) => NewAuditEvent
}

export type AuditEvent = {
  readonly id: string
  readonly at: string
  /** Empty: it concerns none. */
  readonly project: ProjectId
  readonly person: string
  readonly role: string
  readonly action: string
  readonly subject: string | null
  readonly count: number | null
  readonly detail: string | null
}

/** Its id and time are those of the moment when it is stored. */
export type NewAuditEvent = Omit<AuditEvent, 'id' | 'at'>
