/** What the headers of a response say of time. Pure; never throws. */
import type { EpochMs, EpochSeconds, Ms } from '../values/time.ts'
import type { ResponseHead } from './exchange.ts'

const maxRetryAfterMs: Ms = 3_600_000
const minRetryAfterMs: Ms = 1000

/** Between a second and an hour; null if it is absent or unreadable. */
export function retryAfterMs(head: ResponseHead): Ms | null {
  const value = firstHeader(head, 'retry-after')?.trim()
  if (value === undefined) return null
  const ms = /^\d+(\.\d+)?$/.test(value)
    ? Number(value) * 1000
    : msUntilDate(value, firstHeader(head, 'date'))
  return ms === null ? null : Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, Math.ceil(ms)))
}

/** By the service's clock; without its Date header, the date cannot be trusted. */
function msUntilDate(value: string, serverDate: string | null): Ms | null {
  // Date.parse also reads text that is not a date; an HTTP date begins with a weekday.
  const ms = /^[a-z]/i.test(value) ? Date.parse(value) - Date.parse(serverDate ?? '') : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/**
 * The earlier of the service's clock (`Date`) and this machine's when the request was sent, as
 * later rows may be dated anywhere after that. If a clock is far behind, rows are read again.
 */
export function toCursorLimit(
  serverDate: EpochSeconds | null,
  { requestedAt, receivedAt }: { readonly requestedAt: EpochMs; readonly receivedAt: EpochMs },
): EpochSeconds {
  const localTime = Math.floor(requestedAt / 1000)
  if (serverDate === null) return localTime
  // Fractions do not matter: consecutive requests overlap by a second.
  const tookSeconds = Math.max(0, Math.floor((receivedAt - requestedAt) / 1000))
  return Math.min(localTime, serverDate - tookSeconds)
}

/** The service's clock; null if it sends no readable Date. */
export function parseServerDate(head: ResponseHead): EpochSeconds | null {
  const ms = Date.parse(firstHeader(head, 'date') ?? '')
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000)
}

export function firstHeader({ headers }: ResponseHead, key: string): string | null {
  const value = headers[key]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
