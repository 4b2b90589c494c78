/** Stops a sync between two pages, by throwing the `aborted` failure. */
import { ApiError } from '../core/api-failure.ts'
import type { SyncDeps } from './deps.ts'

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError({ kind: 'aborted' })
}

/** Also stops at the end of the time slice, which makes the outcome `interrupted`. */
export function throwIfSliceOver({ signal, isSliceOver }: Pick<SyncDeps, 'signal' | 'isSliceOver'>): void {
  throwIfAborted(signal)
  if (isSliceOver?.() === true) throw new ApiError({ kind: 'aborted' })
}
