/** One write-back that is being worked on, and what came of it. */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { Transition, Writeback } from '../../core/outbox/repository.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { Ms } from '../../core/time.ts'
import type { WritebackDeps } from '../deps.ts'
import type { OperationHandler } from '../operations/operation-handler.ts'

export type SendTask = {
  readonly deps: WritebackDeps
  readonly writeback: Writeback
  readonly request: WritebackRequest
  readonly handler: OperationHandler
}

/** `resting`: to be gone on with later. `lost`: somebody else has it now. */
export type SendTaskResult =
  | { readonly kind: 'settled'; readonly status: WritebackStatus }
  /** `trouble`: the service does not answer as it should. */
  | { readonly kind: 'resting'; readonly failure: ApiFailure | null }
  | { readonly kind: 'lost' }

/** `status`: what the write-back is now; null: this process has no say in it any more. */
export function toTaskResult(status: WritebackStatus | null, failure: ApiFailure | null = null): SendTaskResult {
  if (status === null) return { kind: 'lost' }
  return status === 'queued' || status === 'sending' ? { kind: 'resting', failure } : { kind: 'settled', status }
}

export async function settleTask({ deps, writeback }: Pick<SendTask, 'deps' | 'one'>, transition: Transition): Promise<SendTaskResult> {
  return toTaskResult(await deps.outbox.settle(writeback, transition))
}

/** It left before, no answer came, and no person has brought it back since. */
export function wasSent({ attempts, evidence }: Writeback): boolean {
  return attempts > 0 && evidence.before !== undefined
}

/** How long it rests before it is looked for, where no answer comes. */
export function verifyDelayMs({ deps, handler }: SendTask): Ms {
  return Math.ceil(deps.verifyAfterMs * handler.verifyDelayFactor)
}
