import type { Ms } from '../../values/time.ts'
import type { ApiResponse } from './api-request.ts'

/**
 * What can go wrong with a request: made in `src/service/classify-response.ts` alone. `requestId`:
 * of the response, to quote to the service's support.
 */
export type ApiFailure =
  /** Over the rate limit: nothing was done, and it may be sent again after `waitMs`. */
  | {
      readonly kind: 'throttled'
      readonly waitMs: Ms
      readonly why: string
      /** In the documented form. A 429 of a gateway may follow a write that was done. */
      readonly isDocumented: boolean
      readonly requestId: string | null
    }
  /** Only a false `mayHaveBeenSent` proves that nothing was done. */
  | {
      readonly kind: 'transient'
      readonly why: string
      /** Any byte of the request may have reached the service. */
      readonly mayHaveBeenSent: boolean
      readonly status: number | null
      /** What a 2xx says without proving it: accepted (202), or refused (`ok` false, `errors`). */
      readonly statedResult?: 'accepted' | 'refused'
      /** The body of a 2xx: `too large`, or a hash of it, equal if the same comes again. */
      readonly unreadable?: string
      /** What can be read of it: all but single rows of a list. */
      readonly readable?: ApiResponse
      /** The delay that the service asks for (Retry-After of a 503). */
      readonly waitMs?: Ms
      /** There was no connection through the proxy, so nothing was sent. */
      readonly proxy?: ProxyProblem
      /** The store of the budget did not answer, so nothing was sent. `next`: what helps. */
      readonly budgetFailure?: { readonly reason: string; readonly next: string | null }
      readonly requestId: string | null
    }
  /** 400, 404 and the like, and a 401 or 403 that is not about the key. Retrying does not help. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly code: string
      readonly why: string
      /** Named by a VALIDATION_ERROR, in the service's spelling. */
      readonly fields: readonly string[]
      readonly requestId: string | null
      /** The service answered for the project, so only this row or list is refused. */
      readonly isOnlyThis?: true
    }
  /** 401 or 403 for the key. `scope`: the missing one if that is the reason. */
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

export const proxyProblemOf = (failure: ApiFailure): ProxyProblem | null =>
  failure.kind === 'transient' ? (failure.proxy ?? null) : null

/** Carried up to the use case that turns it into an outcome. All else that is thrown is a bug. */
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

export function isBudgetUnavailable(failure: ApiFailure): boolean {
  return explainBudgetFailure(failure) !== null
}

/** What users read and can do if the store of the request budget did not answer; null: it did. */
export function explainBudgetFailure(failure: ApiFailure) {
  if (failure.kind !== 'transient' || failure.budgetFailure === undefined) return null
  const startIt =
    'start Redis if DESKMIRROR_QUEUE_URL names one, else the database server of the ' +
    'warehouse, or correct the address'
  return {
    what: 'the request budget cannot be reached, so nothing is sent to the service',
    why: failure.budgetFailure.reason,
    next: `${failure.budgetFailure.next ?? startIt}; the next run continues where this one stopped`,
    exitCode: 1,
  } as const
}

/** What was thrown, if it is a failure of this kind; else null. */
export function failureOfKind<Kind extends ApiFailure['kind']>(error: unknown, kind: Kind) {
  return error instanceof ApiError && error.failure.kind === kind
    ? (error.failure as Extract<ApiFailure, { readonly kind: Kind }>)
    : null
}

/** The same request would get the same answer: a smaller one may be readable. */
export const isUnreadable = (error: unknown): boolean =>
  failureOfKind(error, 'transient')?.unreadable !== undefined

/** Equal for equal answers that cannot be read; null: not known. */
export function unreadableContent(error: unknown): string | null {
  const { unreadable = tooLargeBody } = failureOfKind(error, 'transient') ?? {}
  return unreadable === tooLargeBody ? null : unreadable
}

export const tooLargeBody = 'too large'

/** Of a failure: the address leads to a web page, and not to this API. */
export const webPageCode = 'http_web_page'

/** Without the envelope, a wrong address may be the reason, unless the project is served. */
export function isRowRefused(failure: ApiFailure): boolean {
  return (
    failure.kind === 'refused' && (failure.isOnlyThis === true || !failure.code.startsWith('http_'))
  )
}

export const isRefused = (error: unknown): boolean => failureOfKind(error, 'refused') !== null

/** `scope` if the response names none. Null for other errors. */
export function missingScope(error: unknown, scope: string): string | null {
  const denied = failureOfKind(error, 'denied')
  return denied && (denied.scope ?? (denied.code === 'api_key_scope_missing' ? scope : null))
}

/** No such row, or (410) no longer. A proxy's 404, without the envelope, says nothing. */
export function isNotFound(error: unknown): boolean {
  const { status, code } = failureOfKind(error, 'refused') ?? {}
  return (status === 404 || status === 410) && code !== `http_${status}`
}

export function nullIfNotFound<T>(response: Promise<T>): Promise<T | null> {
  return response.catch((error) => {
    if (isNotFound(error)) return null
    throw error
  })
}

/** Why a row that may exist cannot be read (its id, its size, a refusal); else null. */
export function unreadableRowReason(error: unknown): string | null {
  const refused = failureOfKind(error, 'refused')
  return refused !== null && (refused.status < 300 || isRowRefused(refused)) ? refused.why : null
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}
