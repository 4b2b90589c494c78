/** One write-back that is being worked on, and what came of it. */
import type { Failure } from '../core/failure.ts'
import type { Step, Writeback } from '../core/outbox/outbox.ts'
import type { Status } from '../core/outbox/state.ts'
import type { Wish } from '../core/outbox/wish.ts'
import type { Ms } from '../core/time.ts'
import type { WritebackDeps } from './deps.ts'
import type { Procedure } from './operations/procedure.ts'

export type Task = {
  readonly deps: WritebackDeps
  readonly one: Writeback
  readonly wish: Wish
  readonly procedure: Procedure
}

/** `resting`: to be gone on with later. `lost`: somebody else has it now. */
export type Outcome =
  | { readonly kind: 'settled'; readonly status: Status }
  /** `trouble`: the service does not answer as it should. */
  | { readonly kind: 'resting'; readonly trouble: Failure | null }
  | { readonly kind: 'lost' }

/** `status`: what the write-back is now; null: this process has no say in it any more. */
export function outcomeOf(status: Status | null, trouble: Failure | null = null): Outcome {
  if (status === null) return { kind: 'lost' }
  return status === 'queued' || status === 'sending' ? { kind: 'resting', trouble } : { kind: 'settled', status }
}

export async function settle({ deps, one }: Pick<Task, 'deps' | 'one'>, step: Step): Promise<Outcome> {
  return outcomeOf(await deps.outbox.settle(one, step))
}

/** It left before, no answer came, and no person has brought it back since. */
export function wasSent({ attempts, evidence }: Writeback): boolean {
  return attempts > 0 && evidence.before !== undefined
}

/** How long it rests before it is looked for, where no answer comes. */
export function restMs({ deps, procedure }: Task): Ms {
  return Math.ceil(deps.verifyAfterMs * procedure.rest)
}
