/** Reads the headers of a response. */
import type { EpochSeconds, Ms } from '../core/time.ts'
import type { ResponseHead } from './exchange.ts'

const maxRetryAfterMs: Ms = 3_600_000
const minRetryAfterMs: Ms = 1000

/** Milliseconds that Retry-After asks for, between a second and an hour; null if it is absent or unreadable. */
export function retryAfterMs(head: ResponseHead): Ms | null {
  const value = firstHeader(head, 'retry-after')?.trim()
  if (value === undefined) return null
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : msUntilDate(value, firstHeader(head, 'date'))
  return ms === null ? null : Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, Math.ceil(ms)))
}

/** By the service's clock; without its Date header, the date cannot be trusted. */
function msUntilDate(value: string, serverDate: string | null): Ms | null {
  // Date.parse also reads text that is not a date; an HTTP date begins with a weekday.
  const ms = /^[a-z]/i.test(value) ? Date.parse(value) - Date.parse(serverDate ?? '') : Number.NaN
  return Number.isNaN(ms) ? null : ms
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
