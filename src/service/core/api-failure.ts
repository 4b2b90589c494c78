import type { Ms } from '../../values/time.ts'
import type { ApiResponse } from './api-request.ts'

/**
 * What can go wrong with one request to the service: a closed union. Only `src/service/classify.ts`
 * reads HTTP statuses and makes these values. `requestId` is the service's id of the response, to
 * quote to its support.
 */
export type ApiFailure =
  /**
   * Over the rate limit: the service did nothing, and the same request may be sent again after
   * `waitMs`.
   */
  | {
      readonly kind: 'throttled'
      readonly waitMs: Ms
      readonly why: string
      /** In the documented form. A 429 of a gateway may follow a write that was done. */
      readonly isDocumented: boolean
      readonly requestId: string | null
    }
  /**
   * A network error, a 5xx or an unreadable response. Only a false `mayHaveBeenSent` proves that
   * nothing was done.
   */
  | {
      readonly kind: 'transient'
      readonly why: string
      /** Any byte of the request may have reached the service. */
      readonly mayHaveBeenSent: boolean
      readonly status: number | null
      /**
       * What a 2xx says about a write without proving it: accepted (202), or refused (`ok` false,
       * `errors`).
       */
      readonly statedResult?: 'accepted' | 'refused'
      /**
       * A 2xx whose body cannot be read: `too large`, or a hash of the body, which is equal if the
       * same comes again.
       */
      readonly unreadable?: string
      /** What can be read of it: all but single rows of a list. */
      readonly readable?: ApiResponse
      /** The delay that the service asks for (Retry-After of a 503). */
      readonly waitMs?: Ms
      /** There was no connection through the proxy, so nothing was sent. */
      readonly proxy?: ProxyProblem
      /** The store of the request budget did not answer, so nothing was sent. */
      readonly isBudgetFailure?: true
      readonly requestId: string | null
    }
  /**
   * The service understood the request and refuses it: 400, 404 and the like, and 401 or 403 if
   * that is not about the key. Retrying does not help.
   */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly code: string
      readonly why: string
      /**
       * The fields that a VALIDATION_ERROR names, in the service's spelling; empty if it names
       * none.
       */
      readonly fields: readonly string[]
      readonly requestId: string | null
      /**
       * The service answered for the project, so this row or list alone is refused
       * (src/service/core/whose-refusal.ts).
       */
      readonly isOnlyThis?: true
    }
  /**
   * The service denies the key, not only this row: 401 or 403. `scope`: the missing scope if that
   * is the reason, else null.
   */
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

/** What to do about a proxy. `needsPerson`: trying again does not help. */
export type ProxyProblem = { readonly next: string; readonly needsPerson: boolean }

/** Null: it is not about a proxy. */
export const proxyProblemOf = (failure: ApiFailure): ProxyProblem | null =>
  failure.kind === 'transient' ? (failure.proxy ?? null) : null

/**
 * Carries a failure up to the use case that turns it into an outcome. Anything else that is thrown
 * is a bug.
 */
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
  next:
    'start Redis if DESKMIRROR_QUEUE_URL names one, else the database server of the ' +
    'warehouse, or correct the address; the next run continues where this one stopped',
} as const

export function isBudgetUnavailable(failure: ApiFailure): boolean {
  return failure.kind === 'transient' && failure.isBudgetFailure === true
}

/** The same request would get the same answer: a smaller one may be readable. */
export function isUnreadable(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.failure.kind === 'transient' &&
    error.failure.unreadable !== undefined
  )
}

/** Equal for equal answers that cannot be read; null: not known. */
export function unreadableContent(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'transient') return null
  const { unreadable = tooLargeBody } = error.failure
  return unreadable === tooLargeBody ? null : unreadable
}

/** What can be read of an answer that is the same each time; null: nothing. */
export function readablePart(error: unknown): ApiResponse | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'transient') return null
  return error.failure.readable ?? null
}

export const tooLargeBody = 'too large'

/** Of a failure: the address leads to a web page, and not to this API. */
export const webPageCode = 'http_web_page'

/**
 * This row is refused. Without the service's envelope, a wrong address may be the reason, unless
 * the project is served.
 */
export function isRowRefused(failure: ApiFailure): boolean {
  return (
    failure.kind === 'refused' && (failure.isOnlyThis === true || !failure.code.startsWith('http_'))
  )
}

/** A refused request: retrying does not help. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.failure.kind === 'refused'

/**
 * The scope that a denied call lacked: `scope` if the response does not name it. Null for other
 * errors.
 */
export function missingScope(error: unknown, scope: string): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'denied') return null
  return error.failure.scope ?? (error.failure.code === 'api_key_scope_missing' ? scope : null)
}

/**
 * The service responded that there is no such row, or (410) no longer. A proxy's 404, without the
 * envelope, says nothing about rows.
 */
export function isNotFound(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.failure.kind !== 'refused') return false
  const { status, code } = error.failure
  return (status === 404 || status === 410) && code !== `http_${status}`
}

/**
 * Why a row cannot be read although it may exist: an unusable id, too large a response, or it is
 * refused; else null.
 */
export function unreadableRowReason(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'refused') return null
  const { failure } = error
  return failure.status < 300 || isRowRefused(failure) ? failure.why : null
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}
