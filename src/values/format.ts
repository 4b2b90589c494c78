/** Formats numbers, durations and untrusted text for people. */
import type { EpochMs, Ms } from './time.ts'

const numberFormat = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })

/** 12,340 */
export function formatCount(value: number): string {
  return numberFormat.format(value)
}

/** 980 bytes · 12.3 kB · 120.5 MB: in powers of 1000. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return pluralize(bytes, 'byte')
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB']
  return `${formatCount(size)} ${unit}`
}

/** 340 ms · 2.1 s · 2 min 6 s · 3 h 20 min · 2 d 4 h */
export function formatDuration(ms: Ms): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return twoParts(seconds, 60, 'min', 1, 's')
  return seconds < 86_400 ? twoParts(seconds, 3600, 'h', 60, 'min') : twoParts(seconds, 86_400, 'd', 3600, 'h')
}

/** `3 min ago`, or `never`; `at` is RFC 3339 text. */
export function formatAge(at: string | null, now: EpochMs): string {
  return at === null ? 'never' : `${formatDuration(Math.max(0, now - Date.parse(at)))} ago`
}

/** `1 request`, `2 requests` */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${value === 1 ? noun : `${noun}s`}`
}

/** Untrusted text on one line: a control character could move a terminal's cursor, or worse. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ')
}

function twoParts(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const remainder = Math.floor((seconds % large) / small)
  const first = `${Math.floor(seconds / large)} ${largeName}`
  return remainder === 0 ? first : `${first} ${remainder} ${smallName}`
}
