/** Stops a sync between two pages, by throwing. */
import { ApiError } from '../../service/core/api-failure.ts'
import type { SyncDeps } from './deps.ts'

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}

/** The time slice is over. */
class SliceEnded extends Error {}

/** Also stops at the end of the time slice. */
export function throwIfSliceOver({ signal, isSliceOver }: Pick<SyncDeps, 'signal' | 'isSliceOver'>): void {
  throwIfAborted(signal)
  if (isSliceOver?.() === true) throw new SliceEnded()
}

/** The stream did not fail: it was stopped, and the next run continues. */
export function isStopped(error: unknown): boolean {
  return error instanceof SliceEnded || (error instanceof ApiError && error.failure.kind === 'aborted')
}
