/** Stopping on request, between two pages. */
import { ApiError } from '../core/api-failure.ts'

/** Throws CallFailed (aborted) once the signal is given. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}

/** The same once the portion is over, too. */
export function throwIfSliceOver({ signal, isEnough }: { signal: AbortSignal; isEnough?: () => boolean }): void {
  throwIfAborted(signal)
  if (isEnough?.() === true) throw new ApiError({ kind: 'aborted' })
}

/**
 * Whether the service answered that there is no such row. A 404 without its envelope is the word of something in between,
 * which knows nothing of rows.
 */
export function isNotFound(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.failure.kind !== 'refused') return false
  return error.failure.status === 404 && error.failure.code !== 'http_404'
}

/** Why nothing can be known of a row that is asked for by its id: the id, or an answer that is too large; null: otherwise. */
export function unreadableRowReason(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'refused') return null
  const { status, why } = error.failure
  return status < 300 ? why : null
}

/** Whether the service understood and will not do it: asking again changes nothing. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && error.failure.kind === 'refused'
}
