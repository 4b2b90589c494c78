import type { Ms } from './time.ts'

/**
 * What can go wrong with one call of the service: a closed union, made only in `src/api/classify.ts`, which alone reads
 * HTTP statuses. `requestId` is the service's own id of the answer, to quote to its support.
 */
export type ApiFailure =
  /** Over the rate limit. Nothing was done by the service; the same call may go again after `waitMs`. */
  | { readonly kind: 'throttled'; readonly waitMs: Ms; readonly why: string; readonly requestId: string | null }
  /** The network, a 5xx, or an answer that cannot be read. Whether the service did it is known only where `left` is false. */
  | {
      readonly kind: 'transient'
      readonly why: string
      /** Whether any byte of the request may have reached the service. */
      readonly left: boolean
      readonly status: number | null
      /** What a 2xx says of a write that it does not prove: it will be done (202), or it was not (`ok` false, `errors`). */
      readonly claim?: 'accepted' | 'refused'
      /** How long the service asked us to leave it alone (a 503's Retry-After). */
      readonly waitMs?: Ms
      /** It is not about the service at all: the request budget could not be asked, so nothing was sent. */
      readonly budget?: true
      readonly requestId: string | null
    }
  /** The service understood the call and will not do it: 400, 404 and the like. Asking again changes nothing. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly code: string
      readonly why: string
      /** The offending fields that a VALIDATION_ERROR names, in the service's spelling; empty where it names none. */
      readonly fields: readonly string[]
      readonly requestId: string | null
    }
  /** The key may not: 401, or 403. `scope` is the missing scope's name where that is the reason, else null. */
  | {
      readonly kind: 'denied'
      readonly status: number
      readonly code: string
      readonly scope: string | null
      readonly why: string
      readonly requestId: string | null
    }
  /** We were told to stop. */
  | { readonly kind: 'aborted' }

/** Carries a failure up to the story that turns it into an outcome. Anything else that is thrown is a bug. */
export class ApiError extends Error {
  readonly failure: ApiFailure
  constructor(failure: ApiFailure, options?: ErrorOptions) {
    super(describeFailure(failure), options)
    this.name = 'CallFailed'
    this.failure = failure
  }
}

/** One line for a person. */
export function describeFailure(failure: ApiFailure): string {
  if (failure.kind === 'aborted') return 'stopped on request'
  return failure.requestId === null ? failure.why : `${failure.why} (request ${failure.requestId})`
}

/** What a person does about a request budget that cannot be asked. */
export const budgetUnavailable = {
  what: 'the request budget cannot be reached, so nothing is sent to the service',
  next: 'start the server that DESKMIRROR_QUEUE_URL names if that is a Redis, else the one of the warehouse, or correct the address; the next run goes on where this one stopped',
} as const

export function isBudgetUnavailable(failure: ApiFailure): boolean {
  return failure.kind === 'transient' && failure.budget === true
}

/** Whether the service itself will not do it, and not something in between, which answers without the service's envelope. */
export function isRefusedByService(failure: ApiFailure): boolean {
  return failure.kind === 'refused' && !failure.code.startsWith('http_')
}
