/** Concurrent work that has ended completely before a failure is thrown. */
import pMap from 'p-map'

/** After the first failure no further item is started; the failure is thrown when all started ones have ended. */
export async function mapConcurrently<T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>) {
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
