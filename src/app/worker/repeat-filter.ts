/** Recognises messages that were logged recently, so that each sync run does not log them again. */
import type { EpochMs, Ms } from '../../core/time.ts'

const repeatAfterMs: Ms = 24 * 3_600_000
const maxRemembered = 1000

/** The filter returns whether the message is new. */
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

/** The message without ids and numbers, which differ when it is repeated. */
export function maskIdsAndNumbers(message: string): string {
  return message.slice(0, 500).replace(/[0-9a-f-]{8,}|\d+/gi, '#')
}
