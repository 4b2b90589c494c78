/** Formats numbers, durations, times and untrusted text for people. */
import type { EpochMs, Ms, Seconds } from './time.ts'

const numberFormat = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })

/** 12,340 */
export function formatCount(value: number): string {
  return numberFormat.format(value)
}

/** 980 bytes · 12.3 kB · 120.5 MB: in powers of 1000. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return pluralize(bytes, 'byte')
  const [size, unit] =
    bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB']
  return `${formatCount(size)} ${unit}`
}

/** 340 ms · 2.1 s · 2 min 6 s */
export function formatDuration(ms: Ms): string {
  return ms < 999.5 ? `${Math.round(ms)} ms` : formatSeconds(ms / 1000)
}

/** `from`: what is shown in the next smaller unit would be rounded up to this one. */
const durationUnits = [
  { name: 'd', seconds: 86_400, from: 86_370, smaller: 'h', step: 3600 },
  { name: 'h', seconds: 3600, from: 3599.5, smaller: 'min', step: 60 },
  { name: 'min', seconds: 60, from: 59.95, smaller: 's', step: 1 },
]

/**
 * 0.5 s · 2 min 6 s · 3 h 20 min · 2 d 4 h: rounded to the smaller of the two units, so that 59 min
 * 59.7 s is 1 h.
 */
export function formatSeconds(seconds: Seconds): string {
  const unit = durationUnits.find(({ from }) => seconds >= from)
  if (unit === undefined) return `${formatCount(seconds)} s`
  const rounded = Math.round(seconds / unit.step) * unit.step
  const rest = (rounded % unit.seconds) / unit.step
  const first = `${Math.floor(rounded / unit.seconds)} ${unit.name}`
  return rest === 0 ? first : `${first} ${rest} ${unit.smaller}`
}

/** One takes longer to make than to use a thousand times. */
const timeFormats = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-21 19:32` in the time zone. */
export function formatTime(at: EpochMs, timeZone: string): string {
  // The Swedish way of writing a time is that of RFC 3339, without its T.
  const options = { dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23', timeZone } as const
  const format = timeFormats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', options)
  timeFormats.set(timeZone, format)
  return format.format(at)
}

/** The same; `at` is RFC 3339 text. */
export function timeText(at: string | null, timeZone: string, none = '–'): string {
  return at === null ? none : formatTime(Date.parse(at), timeZone)
}

/** `3 min ago`, `just now` or `never`; `at` is RFC 3339 text. */
export function formatAge(at: string | null, now: EpochMs): string {
  if (at === null) return 'never'
  const ageMs = now - Date.parse(at)
  return ageMs < 999.5 ? 'just now' : `${formatDuration(ageMs)} ago`
}

export const capitalize = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** `1 request`, `2 requests` */
export function pluralize(value: number, noun: string): string {
  return `${formatCount(value)} ${value === 1 ? noun : `${noun}s`}`
}

const unprintable = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** Untrusted text on one line: a control character could move a terminal's cursor, or worse. */
export const toPrintable = (text: string): string => text.replace(unprintable, ' ')

/** The same, with line breaks and tabs, for what is written to a terminal as it is. */
export function toPrintableLines(text: string): string {
  return text.replace(unprintable, (found) => found.replace(/[^\n\t]/g, ' '))
}

/** In linear time; a regular expression for it takes quadratic time on long runs. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

export function trimBoth(text: string, characters: string): string {
  const trimmed = trimEnd(text, characters)
  let start = 0
  while (start < trimmed.length && characters.includes(trimmed[start] ?? '')) start += 1
  return trimmed.slice(start)
}
