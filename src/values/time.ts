/**
 * Times of the service: whole seconds since 1970, because it documents RFC 3339 in whole seconds.
 * Fractions are truncated, so a truncated time is never later than the real one.
 */

export type EpochSeconds = number

export type Seconds = number

/** `YYYY-MM-DD` on the clock of a project. */
export type LocalDate = string

/**
 * Milliseconds since 1970 by this machine's clock. For waiting and leases only, never for a cursor.
 */
export type EpochMs = number
export type Ms = number

export const minuteSeconds = 60
export const hourSeconds = 3600
export const daySeconds = 86_400

export const minuteMs: Ms = minuteSeconds * 1000
export const hourMs: Ms = hourSeconds * 1000
export const dayMs: Ms = daySeconds * 1000

/** RFC 3339 with a zone. A time without one is just text. */
const rfc3339Pattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Undefined if the value is not an RFC 3339 time. */
export function parseTime(value: unknown): EpochSeconds | undefined {
  if (typeof value !== 'string' || value.length > 40 || !rfc3339Pattern.test(value))
    return undefined
  const ms = Date.parse(value)
  return Number.isNaN(ms) || !isCalendarDay(value) ? undefined : Math.floor(ms / 1000)
}

/** `Date.parse` takes 30 February for 2 March. */
function isCalendarDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  if (day <= 28) return true
  // All years repeat after 400, and those before 100 mean others to `Date.UTC`.
  const lastOfMonth = new Date(
    Date.UTC(Number(text.slice(0, 4)) + 400, Number(text.slice(5, 7)), 0),
  )
  return day <= lastOfMonth.getUTCDate()
}

/** `YYYY-MM-DDThh:mm:ssZ`: the form that the service documents and the warehouse stores. */
export function rfc3339(at: EpochSeconds): string {
  const day = Math.floor(at / daySeconds)
  const second = Math.floor(at) - day * daySeconds
  const hours = Math.floor(second / hourSeconds)
  const minutes = Math.floor(second / minuteSeconds) % 60
  return `${dateOf(day)}T${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(second % 60)}Z`
}

const twoDigits = (number: number) => (number < 10 ? `0${number}` : String(number))

/** Most times are of few days, and `toISOString` takes most of the time. */
const dates = new Map<number, string>()

function dateOf(day: number): string {
  const known = dates.get(day)
  if (known !== undefined) return known
  if (dates.size === 5000) dates.clear()
  const date = new Date(day * daySeconds * 1000).toISOString().slice(0, -14)
  dates.set(day, date)
  return date
}

/** The form of `rfc3339`, for a time in milliseconds. */
export function toTimestamp(at: EpochMs): string {
  return rfc3339(Math.floor(at / 1000))
}

/** The form of `rfc3339`, without 29 February, which not every year has. */
const normalizedPattern =
  /^[12]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/**
 * The text is certainly in the form of `rfc3339`. True for nearly all times, which then need no
 * conversion.
 */
export function isNormalizedTime(text: string): boolean {
  return normalizedPattern.test(text)
}

/** In the form of `rfc3339`; undefined: not an RFC 3339 time. */
export function normalizeTime(value: unknown): string | undefined {
  if (typeof value === 'string' && isNormalizedTime(value)) return value
  const at = parseTime(value)
  return at === undefined ? undefined : rfc3339(at)
}

/** Durations as people write them: `120s`, `5m`. */
const units: Readonly<Record<string, Ms>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Milliseconds of `250ms`, `120s`, `5m`, `2h`, `1d`; undefined for anything else. */
export function parseDuration(text: string): Ms | undefined {
  const match = /^(\d{1,9})\s*(ms|s|m|h|d)$/.exec(text.trim())
  const unit = units[match?.[2] ?? '']
  return unit === undefined ? undefined : Number(match?.[1]) * unit
}

/** 1 = Monday … 7. */
export type Weekday = 1 | 2 | 3 | 4 | 5 | 6 | 7

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

/**
 * How much clocks may differ without a notice. A row that is further ahead counts as dated in the
 * future.
 */
export const clockToleranceSeconds: Seconds = 60

/**
 * The current time if this machine's clock and the service's disagree: the earlier one, or the
 * later one as far as the newest message confirms it. The service's clock is trusted for one day
 * beyond that. So a `Date` of 9999 requests no future days, and one of 1970 leaves no days out.
 * `newestMessage`: time of the newest message that any row shows.
 */
export function presentTime({
  localTime,
  serviceTime,
  newestMessage,
}: Readonly<Record<'localTime' | 'serviceTime' | 'newestMessage', EpochSeconds>>): EpochSeconds {
  return serviceTime <= localTime
    ? Math.min(localTime, Math.max(serviceTime, newestMessage))
    : Math.min(serviceTime, Math.max(localTime, newestMessage + daySeconds))
}
