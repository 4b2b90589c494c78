/** Concurrent work over any number of items, with its results in the order of the items. */
import { pMapIterable } from 'p-map'

/** After the first failure no further item is started; the failure is thrown when all started ones have ended. */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  let failure: { readonly error: unknown } | null = null
  async function* untilFailure() {
    for await (const item of items) {
      if (failure !== null) return
      yield item
    }
  }
  const attempt = async (item: T) => {
    if (failure !== null) return null
    try {
      return { value: await work(item) }
    } catch (error) {
      failure ??= { error }
      return null
    }
  }
  for await (const result of pMapIterable(untilFailure(), attempt, { concurrency })) {
    if (result !== null && failure === null) yield result.value
  }
  if (failure !== null) throw (failure as { readonly error: unknown }).error
}
