/** What sending write-backs needs: settings of the project, and functions, so that it depends on neither HTTP nor SQL. */
import type { ApiGet, ApiRequest, ApiResponse } from '../core/api-request.ts'
import type { Mirror } from '../core/mirror.ts'
import type { OutboxRepository } from '../core/outbox/repository.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Logger } from '../log.ts'

export type WritebackDeps = {
  /** The project's id at the service. */
  readonly projectId: string
  readonly get: ApiGet
  /**
   * Sends one HTTP request and never repeats it. `markSending` is called when the rate limit allows the request, before
   * any byte is sent; the request is sent only if it returns true. Throws ApiError.
   */
  readonly send: (request: ApiRequest, markSending: () => Promise<boolean>) => Promise<ApiResponse>
  readonly outbox: OutboxRepository
  readonly mirror: Pick<Mirror, 'commit' | 'readRawById'>
  /** Delay before a reply without a response is verified. */
  readonly verifyAfterMs: Ms
  /** Whether a reply that two verifications did not find is sent again; otherwise a person decides. */
  readonly resendReplies: boolean
  readonly now: () => EpochMs
  /** From 0 to below 1. */
  readonly random: () => number
  /** Once aborted, no new send starts; sends in flight are finished. */
  readonly signal: AbortSignal
  /** Never receives text that a person wrote. */
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn'>
}
