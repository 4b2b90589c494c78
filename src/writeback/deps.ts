/** What carrying out write-backs is told and may use: values and functions, so that the story knows no HTTP and no SQL. */
import type { ApiResponse, ApiRequest, ApiGet } from '../core/api-request.ts'
import type { Mirror } from '../core/mirror.ts'
import type { OutboxRepository } from '../core/outbox/repository.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Logger } from '../log.ts'

export type WritebackDeps = {
  /** The project's id at the service. */
  readonly projectId: string
  readonly get: ApiGet
  /**
   * One HTTP request, never a second one. `leave` is asked when it may go by the budget, and says whether it still should:
   * what it writes down is written before a byte leaves. Throws CallFailed.
   */
  readonly send: (call: ApiRequest, leave: () => Promise<boolean>) => Promise<ApiResponse>
  readonly outbox: OutboxRepository
  readonly mirror: Pick<Mirror, 'commit' | 'rawOf'>
  /** How long an unanswered reply rests before it is looked for. */
  readonly verifyAfterMs: Ms
  /** Whether a reply that was twice not found goes once more; else a person decides. */
  readonly resendReplies: boolean
  readonly now: () => EpochMs
  /** 0 to below 1. */
  readonly random: () => number
  /** Nothing new begins after it; what has begun to leave is seen to its end. */
  readonly signal: AbortSignal
  /** Never gets a text that a person wrote. */
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn'>
}
