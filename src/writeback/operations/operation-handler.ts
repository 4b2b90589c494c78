/** What an operation has to say about itself, to be carried out. */
import type { ApiResponse } from '../../core/api-request.ts'
import type { ApiFailure } from '../../core/api-failure.ts'
import type { Evidence, Transition, Writeback } from '../../core/outbox/repository.ts'
import type { Operation, WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { Json } from '../../core/row.ts'
import type { WritebackDeps } from '../deps.ts'

export type RequestFor<O extends Operation> = Extract<WritebackRequest, { operation: O }>

/** How things stand just before it would leave. */
export type Guarded =
  | { readonly canSend: true; readonly body: Json; readonly before: NonNullable<Evidence['before']> }
  /** `overtaken`: somebody else's news stand against it. `unfit`: it is about nobody, or cannot be said. */
  | { readonly canSend: false; readonly event: 'overtaken' | 'unfit'; readonly why: string }

/** It may go. */
export type ReadyToSend = Extract<Guarded, { go: true }>

/** What looking for one that got no answer has shown. */
export type Verification =
  | { readonly kind: 'found'; readonly how: string; readonly messageId?: string }
  /** It is not there, and one more would not be a second one. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknowable'; readonly why: string }

/** One operation: how it is said, what has to be looked at before, and how it is found again. */
export type OperationHandler<O extends Operation = Operation> = {
  readonly method: 'POST' | 'PATCH'
  readonly path: (project: string, target: string) => string
  /** Throws CallFailed. */
  readonly guard: (deps: WritebackDeps, one: Writeback, wish: RequestFor<O>) => Promise<Guarded>
  /** Throws CallFailed. */
  readonly verify: (deps: WritebackDeps, one: Writeback, wish: RequestFor<O>) => Promise<Verification>
  /** How long an unanswered one rests before it is looked for, in parts of `verifyAfterMs`; 0 = there is nothing to look for. */
  readonly verifyDelayFactor: number
  /** Whether sending it twice comes to the same. */
  readonly isIdempotent: boolean
  /** What to make of a refusal that taught how to ask; null: it stands. */
  readonly interpretRefusal?: (
    deps: WritebackDeps,
    one: Writeback,
    refusal: Extract<ApiFailure, { kind: 'refused' }>,
    sent: Json,
  ) => Promise<Transition | null>
  /** What an accepted one teaches. */
  readonly toObservedBehaviours?: (sent: Json) => Transition['observedBehaviours']
  /** Brings what it is about into the mirror, as it is now. Throws CallFailed. */
  readonly refreshTarget: (deps: WritebackDeps, one: Writeback) => Promise<void>
  /** The message that an accepted one has become; null: that does not show. Throws CallFailed. */
  readonly findMessageId?: (deps: WritebackDeps, one: Writeback, wish: RequestFor<O>, answer: ApiResponse) => Promise<string | null>
}
