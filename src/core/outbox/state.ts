/** The life of a write-back: its states, what can happen to it, and what it is then. Pure. */

export const statuses = [
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
export type Status = (typeof statuses)[number]

/** How many are in each state; a state that none is in may be missing. */
export type StatusCounts = Readonly<Partial<Record<Status, number>>>

export const happenings = [
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
export type Happening = (typeof happenings)[number]

/** What people do to them. */
export type Decision = Extract<Happening, 'approved' | 'cancelled' | 'retried' | 'arrived' | 'lost'>

const nexts: Readonly<Record<Status, Readonly<Partial<Record<Happening, Status>>>>> = {
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
  // The sender itself may wake up, long after others gave it up, and know more than they could find out.
  uncertain: {
    undone: 'queued',
    accepted: 'succeeded',
    refused: 'failed',
    unanswered: 'uncertain',
    arrived: 'succeeded',
    lost: 'failed',
  },
  succeeded: {},
  failed: { retried: 'queued' },
  conflict: { retried: 'queued' },
  // By hand, while it was on its way.
  cancelled: { retried: 'queued', accepted: 'succeeded', unanswered: 'uncertain' },
  expired: { retried: 'queued' },
}

/** What a write-back is after something happened to it; null: that cannot happen to it. */
export function next(status: Status, happening: Happening): Status | null {
  return nexts[status][happening] ?? null
}

/** Those that hold back what was queued behind them, for the same conversation or visitor. */
export const holding = ['queued', 'sending', 'uncertain'] as const satisfies readonly Status[]
