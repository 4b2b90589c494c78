/** What carrying out write-backs is told and may use: values and functions, so that the story knows no HTTP and no SQL. */
import type { Answer, Call, Get } from '../core/call.ts'
import type { Failure } from '../core/failure.ts'
import type { Mirror } from '../core/mirror.ts'
import type { Evidence, Outbox, Step, Writeback } from '../core/outbox.ts'
import type { Status } from '../core/outbox-state.ts'
import type { Json } from '../core/row.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Operation, Wish } from '../core/wish.ts'

export type WritebackDeps = {
  /** The project's id at the service. */
  readonly project: string
  readonly get: Get
  /**
   * One HTTP request, never a second one. `leave` is asked when it may go by the budget, and says whether it still should:
   * what it writes down is written before a byte leaves. Throws CallFailed.
   */
  readonly send: (call: Call, leave: () => Promise<boolean>) => Promise<Answer>
  readonly outbox: Outbox
  readonly mirror: Pick<Mirror, 'commit'>
  /** How long an unanswered reply rests before it is looked for. */
  readonly verifyAfterMs: Ms
  /** Whether a reply that was twice not found goes once more; else a person decides. */
  readonly resendReplies: boolean
  readonly now: () => EpochMs
  /** 0 to below 1. */
  readonly random: () => number
  /** Nothing new begins after it; what has begun to leave is seen to its end. */
  readonly signal: AbortSignal
  readonly log: Log
}

/** pino, or whatever takes its events. Never a text that a person wrote. */
export type Log = {
  readonly debug: (event: Readonly<Record<string, unknown>>) => void
  readonly info: (event: Readonly<Record<string, unknown>>) => void
  readonly warn: (event: Readonly<Record<string, unknown>>) => void
}

export type WishOf<O extends Operation> = Extract<Wish, { operation: O }>

/** How things stand just before it would leave. */
export type Guarded =
  | { readonly go: true; readonly body: Json; readonly before: NonNullable<Evidence['before']> }
  /** `overtaken`: somebody else's news stand against it. `unfit`: it is about nobody, or cannot be said. */
  | { readonly go: false; readonly happening: 'overtaken' | 'unfit'; readonly why: string }

export type Going = Extract<Guarded, { go: true }>

/** What looking for one that got no answer has shown. */
export type Looked =
  | { readonly kind: 'found'; readonly how: string; readonly messageId?: string }
  /** It is not there, and one more would not be a second one. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknowable'; readonly why: string }

/** One operation: how it is said, what has to be looked at before, and how it is found again. */
export type Craft<O extends Operation = Operation> = {
  readonly method: 'POST' | 'PATCH'
  readonly path: (project: string, target: string) => string
  /** Throws CallFailed. */
  readonly guard: (deps: WritebackDeps, one: Writeback, wish: WishOf<O>) => Promise<Guarded>
  /** Throws CallFailed. */
  readonly look: (deps: WritebackDeps, one: Writeback, wish: WishOf<O>) => Promise<Looked>
  /** How long it rests before it is looked for. */
  readonly restMs: (verifyAfterMs: Ms) => Ms
  /** Whether sending it twice comes to the same. */
  readonly idempotent: boolean
  /** What to make of a refusal that taught how to ask; null: it stands. */
  readonly lesson?: (
    deps: WritebackDeps,
    one: Writeback,
    refusal: Extract<Failure, { kind: 'refused' }>,
    sent: Json,
  ) => Promise<Step | null>
  /** What an accepted one teaches. */
  readonly learned?: (sent: Json) => Step['learned']
  /** Brings what it is about into the mirror, as it is now. Throws CallFailed. */
  readonly refresh: (deps: WritebackDeps, one: Writeback) => Promise<void>
  /** The message that an accepted one has become; null: that does not show. Throws CallFailed. */
  readonly recognize?: (deps: WritebackDeps, one: Writeback, wish: WishOf<O>, answer: Answer) => Promise<string | null>
}

/** One write-back on its way. */
export type Errand = {
  readonly deps: WritebackDeps
  readonly one: Writeback
  readonly wish: Wish
  readonly craft: Craft
}

/** What came of working on one. `resting`: to be gone on with later. `lost`: somebody else has it now. */
export type Delivered =
  | { readonly kind: 'settled'; readonly status: Status }
  /** `trouble`: the service does not answer as it should. */
  | { readonly kind: 'resting'; readonly trouble: Failure | null }
  | { readonly kind: 'lost' }

/** `status`: what the write-back is now; null: this process has no say in it any more. */
export function came(status: Status | null, trouble: Failure | null = null): Delivered {
  if (status === null) return { kind: 'lost' }
  return status === 'queued' || status === 'sending' ? { kind: 'resting', trouble } : { kind: 'settled', status }
}
