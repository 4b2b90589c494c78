import type { Ms } from '../../values/time.ts'

/**
 * What can go wrong with one request to the service: a closed union. Only `src/service/classify.ts` reads HTTP statuses and
 * makes these values. `requestId` is the service's id of the response, to quote to its support.
 */
export type ApiFailure =
  /** Over the rate limit: the service did nothing, and the same request may be sent again after `waitMs`. */
  | { readonly kind: 'throttled'; readonly waitMs: Ms; readonly why: string; readonly requestId: string | null }
  /** A network error, a 5xx or an unreadable response. Only a false `mayHaveBeenSent` proves that nothing was done. */
  | {
      readonly kind: 'transient'
      readonly why: string
      /** Any byte of the request may have reached the service. */
      readonly mayHaveBeenSent: boolean
      readonly status: number | null
      /** What a 2xx says about a write without proving it: accepted (202), or refused (`ok` false, `errors`). */
      readonly statedResult?: 'accepted' | 'refused'
      /** A 2xx whose body cannot be read: `too large`, or a hash of the body, which is equal if the same comes again. */
      readonly unreadable?: string
      /** The delay that the service asks for (Retry-After of a 503). */
      readonly waitMs?: Ms
      /** The store of the request budget did not answer, so nothing was sent. */
      readonly isBudgetFailure?: true
      readonly requestId: string | null
    }
  /** The service understood the request and refuses it: 400, 404 and the like. Retrying does not help. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly code: string
      readonly why: string
      /** The fields that a VALIDATION_ERROR names, in the service's spelling; empty if it names none. */
      readonly fields: readonly string[]
      readonly requestId: string | null
    }
  /** The service denies the key: 401 or 403. `scope`: the missing scope if that is the reason, else null. */
  | {
      readonly kind: 'denied'
      readonly status: number
      readonly code: string
      readonly scope: string | null
      readonly why: string
      readonly requestId: string | null
    }
  /** The caller's signal was aborted. */
  | { readonly kind: 'aborted' }

/** Carries a failure up to the use case that turns it into an outcome. Anything else that is thrown is a bug. */
export class ApiError extends Error {
  readonly failure: ApiFailure
  constructor(failure: ApiFailure, options?: ErrorOptions) {
    super(describeFailure(failure), options)
    this.name = 'ApiError'
    this.failure = failure
  }
}

/** One line for users. */
export function describeFailure(failure: ApiFailure): string {
  if (failure.kind === 'aborted') return 'stopped on request'
  return failure.requestId === null ? failure.why : `${failure.why} (request ${failure.requestId})`
}

/** What users can do if the store of the request budget does not answer. */
export const budgetUnavailable = {
  what: 'the request budget cannot be reached, so nothing is sent to the service',
  next: 'start Redis if DESKMIRROR_QUEUE_URL names one, else the database server of the warehouse, or correct the address; the next run continues where this one stopped',
} as const

export function isBudgetUnavailable(failure: ApiFailure): boolean {
  return failure.kind === 'transient' && failure.isBudgetFailure === true
}

/** The same request would get the same answer: a smaller one may be readable. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof ApiError && error.failure.kind === 'transient' && error.failure.unreadable !== undefined
}

export const tooLargeBody = 'too large'

/** The service itself refused, not a proxy: a proxy responds without the service's envelope. */
export function isRefusedByService(failure: ApiFailure): boolean {
  return failure.kind === 'refused' && !failure.code.startsWith('http_')
}

/** A refused request: retrying does not help. */
export const isRefused = (error: unknown): boolean => error instanceof ApiError && error.failure.kind === 'refused'

/** The scope that a denied call lacked: `scope` if the response does not name it. Null for other errors. */
export function missingScope(error: unknown, scope: string): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'denied') return null
  return error.failure.scope ?? (error.failure.code === 'api_key_scope_missing' ? scope : null)
}

/** The service responded that there is no such row, or (410) no longer. A proxy's 404, without the envelope, says nothing about rows. */
export function isNotFound(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.failure.kind !== 'refused') return false
  const { status, code } = error.failure
  return (status === 404 || status === 410) && code !== `http_${status}`
}

/**
 * Why a row cannot be read by its id although it may exist: an unusable id, too large a response, the service refuses it, or
 * it is of another project; else null.
 */
export function unreadableRowReason(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  const { failure } = error
  if (isForbiddenRow(failure)) return failure.why
  return failure.kind === 'refused' && (failure.status < 300 || isRefusedByService(failure)) ? failure.why : null
}

/**
 * A 403 for one row that is not about the key: a code that is not documented, as for writes, or another project. The paths of
 * conversations and calls name no project, so of these it is the row that is of another one, such as a conversation that was
 * moved there. If it is the key, the lists of the project are denied, too.
 */
function isForbiddenRow(failure: ApiFailure): failure is Extract<ApiFailure, { kind: 'denied' }> {
  if (failure.kind !== 'denied') return false
  const isKnown = failure.status !== 403 || failure.code.startsWith('api_key_')
  return failure.code === 'api_key_wrong_project' || !isKnown
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}
