/** What each operation defines so that it can be checked, sent and verified. */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import type { Evidence, Transition, Writeback } from '../../core/outbox/repository.ts'
import type { Operation, RequestFor } from '../../core/outbox/writeback-request.ts'
import type { Json } from '../../core/row.ts'
import type { WritebackDeps } from '../deps.ts'

/** The result of the check just before a send. */
export type PreconditionResult =
  | { readonly canSend: true; readonly body: Json; readonly before: NonNullable<Evidence['before']> }
  /** `conflicted`: the target changed in a way that contradicts it. `invalid`: no such target, or it cannot be sent. */
  | { readonly canSend: false; readonly event: 'conflicted' | 'invalid'; readonly why: string }

export type ReadyToSend = Extract<PreconditionResult, { canSend: true }>

/** Whether a send without a response arrived. */
export type Verification =
  | { readonly kind: 'found'; readonly how: string; readonly messageId?: string }
  /** It did not arrive, and sending it again would not duplicate it. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unverifiable'; readonly why: string }

/** A claimed write-back, and what is needed to work on it. */
export type Task = { readonly deps: WritebackDeps; readonly writeback: Writeback }

export type Refusal = Extract<ApiFailure, { kind: 'refused' }>

/** Makes the handler of one request. */
export type CreateHandler<O extends Operation> = (request: RequestFor<O>) => OperationHandler

/** One request: the check before the send, and the verification after it. */
export type OperationHandler = {
  readonly method: 'POST' | 'PATCH'
  readonly path: (project: string, target: string) => string
  /** Throws ApiError. */
  readonly checkPrecondition: (task: Task) => Promise<PreconditionResult>
  /** Throws ApiError. */
  readonly verify: (task: Task) => Promise<Verification>
  /** Delay before verification as a fraction of `verifyAfterMs`; 0 if it cannot be verified. */
  readonly verifyDelayFactor: number
  /** The transition for a refusal that tells how to correct the request; null if the refusal stands. */
  readonly interpretRefusal?: (task: Task, refusal: Refusal, sent: Json) => Promise<Transition | null>
  /** What an accepted request shows about the service. */
  readonly toObservedBehaviours?: (sent: Json) => Transition['observedBehaviours']
  /** Reads the target and stores it in the mirror. Throws ApiError. */
  readonly refreshTarget: (task: Task) => Promise<void>
  /** The id of the message that it created; null if unknown. Throws ApiError. */
  readonly findMessageId?: (task: Task, response: ApiResponse) => Promise<string | null>
}
