/** Whether a sentence says anything that was not said lately: what is so at each pass need not be told at each. */
import type { EpochMs, Ms } from '../../core/time.ts'

/** After so long it is worth saying again. */
const repeatAfterMs: Ms = 24 * 3_600_000
const maxRemembered = 1000

export function createRepeatFilter(now: () => EpochMs = Date.now): (message: string) => boolean {
  const loggedAt = new Map<string, EpochMs>()
  return (message) => {
    const key = maskIdsAndNumbers(message)
    const lastAt = loggedAt.get(key)
    if (lastAt !== undefined && now() - lastAt < repeatAfterMs) return false
    if (loggedAt.size >= maxRemembered) loggedAt.clear()
    loggedAt.set(key, now())
    return true
  }
}

/** What is the same when something is said again: ids and numbers are not. */
export function maskIdsAndNumbers(message: string): string {
  return message.slice(0, 500).replace(/[0-9a-f-]{8,}|\d+/gi, '#')
}
