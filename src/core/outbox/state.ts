/** The life of a write-back: its states, what can happen to it, and what it is then. Pure. */

export const writebackStatuses = [
  /** Waits for somebody's approval. */
  'draft',
  'queued',
  /** May have left this machine; what became of it is not known yet. */
  'sending',
  'succeeded',
  /** Refused: final. */
  'failed',
  /** The world moved since the person looked: not sent. */
  'conflict',
  /** May or may not have arrived: a person decides, and until then its lane rests. */
  'uncertain',
  'cancelled',
  'expired',
] as const
export type WritebackStatus = (typeof writebackStatuses)[number]

/** What was decided about one while it was on its way: it is not sent again, and becomes this if it did not arrive. */
export const revocations = ['cancelled', 'expired'] as const
export type Revocation = (typeof revocations)[number]

/** A status, and what was decided since it left: as fine as anything has to know it. */
export const writebackStates = [...writebackStatuses, 'cancelling', 'expiring', 'uncertain_cancelled', 'uncertain_expired'] as const
export type WritebackState = (typeof writebackStates)[number]

/** The two columns that hold a state. */
type StoredState = { readonly status: WritebackStatus; readonly revokedAs: Revocation | null }

const revokedStates: Readonly<Record<Exclude<WritebackState, WritebackStatus>, StoredState>> = {
  cancelling: { status: 'sending', revokedAs: 'cancelled' },
  expiring: { status: 'sending', revokedAs: 'expired' },
  uncertain_cancelled: { status: 'uncertain', revokedAs: 'cancelled' },
  uncertain_expired: { status: 'uncertain', revokedAs: 'expired' },
}

export function toStoredState(state: WritebackState): StoredState {
  return state in revokedStates ? revokedStates[state as keyof typeof revokedStates] : { status: state as WritebackStatus, revokedAs: null }
}

/** In any other status it does not count what was decided before. */
export function fromStoredState(status: WritebackStatus, revokedAs: Revocation | null): WritebackState {
  if (revokedAs === null) return status
  if (status === 'sending') return revokedAs === 'cancelled' ? 'cancelling' : 'expiring'
  if (status === 'uncertain') return revokedAs === 'cancelled' ? 'uncertain_cancelled' : 'uncertain_expired'
  return status
}

/** How many are in each status; a state that none is in may be missing. */
export type StatusCounts = Readonly<Partial<Record<WritebackStatus, number>>>

export const outboxEvents = [
  'approved',
  'cancelled',
  'expired',
  /** Somebody else's news stand against it. */
  'overtaken',
  /** It cannot be sent as it is, or it is about nobody. */
  'unfit',
  /** It is about to leave: written down before it does. */
  'leaving',
  /** Nothing was done: no byte left this machine, or the service said so (429, a 400 that taught how to ask). */
  'undone',
  'accepted',
  'refused',
  /** It left, and no readable answer came: it is looked for later. */
  'unanswered',
  /** Looked for, and there. */
  'found',
  /** Looked for, not there, and it may go once more. */
  'absent',
  /** Nothing that can be looked at tells whether it arrived. */
  'unknowable',
  /** A person wants it sent again. */
  'retried',
  /** A person knows that it arrived, or that it did not. */
  'arrived',
  'lost',
] as const
export type OutboxEvent = (typeof outboxEvents)[number]

/** What people do to them. */
export type OutboxDecision = Extract<OutboxEvent, 'approved' | 'cancelled' | 'retried' | 'arrived' | 'lost'>

/** `becomes`: if it did not arrive. */
function revokedTransitions(staysAs: WritebackState, becomes: Revocation, uncertain: WritebackState): Readonly<Partial<Record<OutboxEvent, WritebackState>>> {
  return {
    undone: becomes,
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: staysAs,
    found: 'succeeded',
    absent: becomes,
    unknowable: uncertain,
    arrived: 'succeeded',
    lost: 'failed',
  }
}

const transitions: Readonly<Record<WritebackState, Readonly<Partial<Record<OutboxEvent, WritebackState>>>>> = {
  draft: { approved: 'queued', cancelled: 'cancelled' },
  queued: {
    cancelled: 'cancelled',
    expired: 'expired',
    overtaken: 'conflict',
    unfit: 'failed',
    leaving: 'sending',
    // One that was sent, and given up as lost, may turn up before it goes again.
    found: 'succeeded',
    unknowable: 'uncertain',
    // Put back by hand while it was on its way.
    accepted: 'succeeded',
    unanswered: 'sending',
  },
  sending: {
    cancelled: 'cancelling',
    expired: 'expiring',
    undone: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'sending',
    found: 'succeeded',
    absent: 'queued',
    unknowable: 'uncertain',
    // A person need not wait for us to look.
    arrived: 'succeeded',
    lost: 'failed',
  },
  cancelling: revokedTransitions('cancelling', 'cancelled', 'uncertain_cancelled'),
  expiring: { ...revokedTransitions('expiring', 'expired', 'uncertain_expired'), cancelled: 'cancelling' },
  // The sender itself may wake up, long after others gave it up, and know more than they could find out.
  uncertain: {
    cancelled: 'uncertain_cancelled',
    undone: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_cancelled: {
    undone: 'cancelled',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain_cancelled',
    arrived: 'succeeded',
    lost: 'failed',
  },
  uncertain_expired: {
    cancelled: 'uncertain_cancelled',
    undone: 'expired',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain_expired',
    arrived: 'succeeded',
    lost: 'failed',
  },
  succeeded: {},
  failed: { retried: 'queued' },
  conflict: { retried: 'queued' },
  // By hand, while it was on its way.
  cancelled: { retried: 'queued', accepted: 'succeeded', unanswered: 'cancelling' },
  expired: { retried: 'queued', accepted: 'succeeded', unanswered: 'expiring' },
}

/** What a write-back is after something happened to it; null: that cannot happen to it. */
export function nextState(state: WritebackState, event: OutboxEvent): WritebackState | null {
  return transitions[state][event] ?? null
}

/** Those that hold back what was queued behind them, for the same conversation or visitor. */
export const laneBlockingStatuses = ['queued', 'sending', 'uncertain'] as const satisfies readonly WritebackStatus[]
