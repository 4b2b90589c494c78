/** Whether the Redis of the queue answers. Changes nothing. */
import { backendKindOf } from '../config/queue-backends.ts'
import { serverDisplayName } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'

/**
 * None if the queue is in the process. No budget is read in Redis before the first sync, so it is
 * asked by itself. Throws UserError if a person must change something.
 */
export async function checkQueue(url: string) {
  if (backendKindOf(url) !== 'redis') return []
  const { openRedisRecords } = await import('../service/rate-limit/redis-record.ts')
  const records = openRedisRecords(url)
  try {
    await records.record('check').read()
    const detail = `Redis answers at ${serverDisplayName(url)}`
    return [{ name: 'queue', state: 'ok' as const, detail, hint: null }]
  } catch (error) {
    if (!(error instanceof UserError) || error.exitCode === 2) throw error
    const { message, next: hint } = error
    const detail = `${serverDisplayName(url)} cannot be used: ${message}`
    return [{ name: 'queue', state: 'error' as const, detail, hint, retryable: true }]
  } finally {
    records.close()
  }
}
