/** The state machine of a write-back: statuses, events and transitions. Pure. */
import { writebackStatuses } from '../../../schema/operation-specs.ts'
import { formatCount, pluralize } from '../../values/format.ts'

export type WritebackStatus = (typeof writebackStatuses)[number]

/** Decided in flight: it is not sent again, and gets this status if it did not arrive. */
export type Revocation = 'cancelled' | 'expired'

const revokedInFlight = [
  'cancelling',
  'expiring',
  'uncertain_cancelled',
  'uncertain_expired',
] as const
/** `stopped`: a draft that was queued when its batch was stopped: it needs no new approval. */
export const writebackStates = [...writebackStatuses, 'stopped', ...revokedInFlight] as const
export type WritebackState = (typeof writebackStates)[number]

const combinedStates: Readonly<
  Record<
    Exclude<WritebackState, WritebackStatus>,
    {
      readonly status: WritebackStatus
      readonly revokedAs: Revocation | null
      readonly isStopped: boolean
    }
  >
> = {
  stopped: { status: 'draft', revokedAs: null, isStopped: true },
  cancelling: { status: 'sending', revokedAs: 'cancelled', isStopped: false },
  expiring: { status: 'sending', revokedAs: 'expired', isStopped: false },
  uncertain_cancelled: { status: 'uncertain', revokedAs: 'cancelled', isStopped: false },
  uncertain_expired: { status: 'uncertain', revokedAs: 'expired', isStopped: false },
}

export function toStoredState(state: WritebackState) {
  return state in combinedStates
    ? combinedStates[state as keyof typeof combinedStates]
    : { status: state as WritebackStatus, revokedAs: null, isStopped: false }
}

/** Only drafts can be stopped; only `sending` and `uncertain` rows can be revoked. */
export function fromStoredState(
  status: WritebackStatus,
  revokedAs: Revocation | null,
  isStopped: boolean,
): WritebackState {
  if (status === 'draft' && isStopped) return 'stopped'
  if (revokedAs === null) return status
  if (status === 'sending') return revokedAs === 'cancelled' ? 'cancelling' : 'expiring'
  if (status === 'uncertain')
    return revokedAs === 'cancelled' ? 'uncertain_cancelled' : 'uncertain_expired'
  return status
}

/** Whether the status changes only when a person decides so. */
export function isSettled(status: WritebackStatus): boolean {
  return status !== 'draft' && status !== 'queued' && status !== 'sending'
}

/** Rows per status; a missing status counts as zero. */
export type StatusCounts = Readonly<Partial<Record<WritebackStatus, number>>>

export function presentStatuses(counts: StatusCounts): readonly WritebackStatus[] {
  return writebackStatuses.filter((status) => (counts[status] ?? 0) > 0)
}

const nouns: readonly WritebackStatus[] = ['draft', 'conflict']

/** `2 drafts, 1,204 succeeded, 3 failed` */
export function formatCounts(
  counts: StatusCounts,
  statuses: readonly WritebackStatus[] = writebackStatuses,
): string {
  const texts = statuses.flatMap((status) => {
    const count = counts[status] ?? 0
    if (count === 0) return []
    return nouns.includes(status) ? pluralize(count, status) : `${formatCount(count)} ${status}`
  })
  return texts.join(', ')
}

export const outboxEvents = [
  'approved',
  /** A person takes an approval back, within its grace. */
  'approval_undone',
  /** A person stops its batch: what has not left waits. */
  'stopped',
  'resumed',
  'cancelled',
  'expired',
  /** The target has changed in a way that contradicts it. */
  'conflicted',
  /** The request is invalid, or its target does not exist. */
  'invalid',
  /** Recorded just before the request goes out. */
  'sending_started',
  /** Nothing was done: no byte was sent, or the service said so (429, another field name). */
  'not_sent',
  'accepted',
  'refused',
  /** It was sent but no readable response came; it is verified later. */
  'no_response',
  /** A verification did not find it; another one follows. */
  'not_found_yet',
  /** Verification found it. */
  'found',
  /** The last verification did not find it either, and it may be sent again. */
  'absent',
  /** Nothing readable shows whether it arrived. */
  'unverifiable',
  /** A person wants it sent again. */
  'retried',
  /** A person states that it arrived, or that it did not. */
  'arrived',
  'lost',
] as const
export type OutboxEvent = (typeof outboxEvents)[number]

type Transitions = Readonly<Partial<Record<OutboxEvent, WritebackState>>>

/** What shows the outcome of a send: a person may decide before verification does. */
const outcomes = {
  accepted: 'succeeded',
  refused: 'failed',
  arrived: 'succeeded',
  lost: 'failed',
} as const

/** `becomes`: its status if it did not arrive. */
function revokedTransitions(
  staysAs: WritebackState,
  becomes: Revocation,
  uncertain: WritebackState,
): Transitions {
  const unsent = { not_sent: becomes, absent: becomes }
  const unknown = { no_response: staysAs, not_found_yet: staysAs, unverifiable: uncertain }
  return { ...outcomes, ...unsent, ...unknown, found: 'succeeded' }
}

const transitions: Readonly<Record<WritebackState, Transitions>> = {
  draft: { approved: 'queued', cancelled: 'cancelled' },
  stopped: { resumed: 'queued', cancelled: 'cancelled' },
  queued: {
    approval_undone: 'draft',
    stopped: 'stopped',
    cancelled: 'cancelled',
    expired: 'expired',
    conflicted: 'conflict',
    invalid: 'failed',
    sending_started: 'sending',
    // A send that was not found before may become visible before it is sent again.
    found: 'succeeded',
    unverifiable: 'uncertain',
    // Set back to queued by SQL while it was in flight.
    accepted: 'succeeded',
    no_response: 'sending',
  },
  sending: {
    ...outcomes,
    cancelled: 'cancelling',
    expired: 'expiring',
    not_sent: 'queued',
    no_response: 'sending',
    not_found_yet: 'sending',
    found: 'succeeded',
    absent: 'queued',
    unverifiable: 'uncertain',
  },
  cancelling: revokedTransitions('cancelling', 'cancelled', 'uncertain_cancelled'),
  expiring: {
    ...revokedTransitions('expiring', 'expired', 'uncertain_expired'),
    cancelled: 'cancelling',
  },
  // A sender that was suspended may still report the outcome after other processes gave up.
  uncertain: {
    ...outcomes,
    cancelled: 'uncertain_cancelled',
    not_sent: 'queued',
    no_response: 'uncertain',
  },
  uncertain_cancelled: { ...outcomes, not_sent: 'cancelled', no_response: 'uncertain_cancelled' },
  uncertain_expired: {
    ...outcomes,
    cancelled: 'uncertain_cancelled',
    not_sent: 'expired',
    no_response: 'uncertain_expired',
  },
  succeeded: {},
  failed: { retried: 'queued' },
  conflict: { retried: 'queued' },
  // Set by SQL while it was in flight.
  cancelled: { retried: 'queued', accepted: 'succeeded', no_response: 'cancelling' },
  expired: { retried: 'queued', accepted: 'succeeded', no_response: 'expiring' },
}

/** The state after an event; null if the event is not possible in this state. */
export function nextState(state: WritebackState, event: OutboxEvent): WritebackState | null {
  return transitions[state][event] ?? null
}

/** Statuses that block later write-backs of the same lane. */
export const laneBlockingStatuses = [
  'queued',
  'sending',
  'uncertain',
] as const satisfies readonly WritebackStatus[]

/** Of write-backs that have not ended. */
export const openStatuses: readonly WritebackStatus[] = ['draft', ...laneBlockingStatuses]
