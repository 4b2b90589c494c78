/** Several requests under way at once, and all of them at their end before anybody hears of a failure. */
import pMap from 'p-map'

/** Works on the items, so many at a time. After the first failure nothing is begun; it is thrown when all have ended. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const failures: unknown[] = []
  const results: R[] = []
  const attempt = async (item: T) => {
    if (failures.length > 0) return
    try {
      results.push(await work(item))
    } catch (error) {
      failures.push(error)
    }
  }
  await pMap(items, attempt, { concurrency })
  if (failures.length > 0) throw failures[0]
  return results
}
