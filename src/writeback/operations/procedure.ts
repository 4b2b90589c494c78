/** What an operation has to say about itself, to be carried out. */
import type { Answer } from '../../core/call.ts'
import type { Failure } from '../../core/failure.ts'
import type { Evidence, Step, Writeback } from '../../core/outbox/outbox.ts'
import type { Operation, Wish } from '../../core/outbox/wish.ts'
import type { Json } from '../../core/row.ts'
import type { WritebackDeps } from '../deps.ts'

export type WishOf<O extends Operation> = Extract<Wish, { operation: O }>

/** How things stand just before it would leave. */
export type Guarded =
  | { readonly go: true; readonly body: Json; readonly before: NonNullable<Evidence['before']> }
  /** `overtaken`: somebody else's news stand against it. `unfit`: it is about nobody, or cannot be said. */
  | { readonly go: false; readonly happening: 'overtaken' | 'unfit'; readonly why: string }

/** It may go. */
export type Cleared = Extract<Guarded, { go: true }>

/** What looking for one that got no answer has shown. */
export type Looked =
  | { readonly kind: 'found'; readonly how: string; readonly messageId?: string }
  /** It is not there, and one more would not be a second one. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknowable'; readonly why: string }

/** One operation: how it is said, what has to be looked at before, and how it is found again. */
export type Procedure<O extends Operation = Operation> = {
  readonly method: 'POST' | 'PATCH'
  readonly path: (project: string, target: string) => string
  /** Throws CallFailed. */
  readonly guard: (deps: WritebackDeps, one: Writeback, wish: WishOf<O>) => Promise<Guarded>
  /** Throws CallFailed. */
  readonly look: (deps: WritebackDeps, one: Writeback, wish: WishOf<O>) => Promise<Looked>
  /** How long an unanswered one rests before it is looked for, in parts of `verifyAfterMs`; 0 = there is nothing to look for. */
  readonly rest: number
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
