/** Rates and durations as people write them: `600/60s`, `120s`, `5m`. */
import type { Ms } from '../time.ts'

/** `requests` in every window of `windowMs`. */
export type Rate = { readonly requests: number; readonly windowMs: Ms }

const units: Readonly<Record<string, Ms>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `250ms`, `120s`, `5m`, `2h`, `1d`; undefined for anything else. */
export function parseDuration(text: string): Ms | undefined {
  const match = /^(\d{1,9})\s*(ms|s|m|h|d)$/.exec(text.trim())
  const unit = units[match?.[2] ?? '']
  return unit === undefined ? undefined : Number(match?.[1]) * unit
}

/** The rate of `600/60s` or `600/m`; undefined for anything else, and where either number is zero. */
export function parseRate(text: string): Rate | undefined {
  const [requests = '', window = '', ...rest] = text.trim().split('/')
  if (rest.length > 0 || !/^\d{1,12}$/.test(requests)) return undefined
  const windowMs = parseDuration(/^\s*[a-z]/.test(window) ? `1${window.trim()}` : window)
  if (windowMs === undefined || windowMs === 0 || Number(requests) === 0) return undefined
  return { requests: Number(requests), windowMs }
}
