/** Concurrent work that ends before a failure is thrown, and how a sync stops between two pages. */
import { pMapIterable } from 'p-map'
import { ApiError, throwIfAborted } from '../../service/core/api-failure.ts'
import type { EarlyEnd } from '../../values/early-end.ts'

/** After a failure no item is started; it is thrown when all started ones have ended. */
export function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
) {
  // All results are kept, so none that is slow holds up the others.
  return Array.fromAsync(mapInOrder(items, concurrency, work, Number.POSITIVE_INFINITY))
}

/** `backpressure`: how many results may wait for those before them. */
export async function* mapInOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
  backpressure: number = concurrency,
): AsyncGenerator<R> {
  const failures: unknown[] = []
  async function* untilFailure() {
    for await (const item of items) {
      if (failures.length > 0) return
      yield item
    }
  }
  const attempt = async (item: T) => {
    if (failures.length > 0) return null
    try {
      return { value: await work(item) }
    } catch (error) {
      failures.push(error)
      return null
    }
  }
  for await (const result of pMapIterable(untilFailure(), attempt, { concurrency, backpressure }))
    if (result !== null && failures.length === 0) yield result.value
  if (failures.length > 0) throw failures[0]
}

/** See `EarlyEnd`: `more`. */
class SliceOver extends Error {}

/** Also stops at the end of the time slice. */
export function throwIfSliceOver(run: {
  readonly signal: AbortSignal
  readonly isSliceOver?: (() => boolean) | undefined
}): void {
  throwIfAborted(run.signal)
  if (run.isSliceOver?.() === true) throw new SliceOver()
}

/** Null: it failed. */
export function earlyEndOf(error: unknown): EarlyEnd | null {
  if (error instanceof SliceOver) return 'more'
  return error instanceof ApiError && error.failure.kind === 'aborted' ? 'interrupted' : null
}
