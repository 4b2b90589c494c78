/** Rates as people write them: `600/60s`. */
import { type Ms, parseDuration } from './time.ts'

/** `requests` in every window of `windowMs`. */
export type Rate = { readonly requests: number; readonly windowMs: Ms }

/** The rate of `600/60s` or `600/m`; undefined for anything else, and if either number is zero. */
export function parseRate(text: string): Rate | undefined {
  const [requests = '', window = '', ...rest] = text.trim().split('/')
  if (rest.length > 0 || !/^\d{1,12}$/.test(requests)) return undefined
  const windowMs = parseDuration(/^\s*[a-z]/.test(window) ? `1${window.trim()}` : window)
  if (windowMs === undefined || windowMs === 0 || Number(requests) === 0) return undefined
  return { requests: Number(requests), windowMs }
}
