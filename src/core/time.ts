/**
 * Times of the service: whole seconds since 1970, because it documents RFC 3339 in whole seconds. Fractions are truncated,
 * so a truncated time is never later than the real one.
 */
export type EpochSeconds = number

/** A duration. */
export type Seconds = number

/** Milliseconds since 1970 by this machine's clock. For waiting and leases only, never for a cursor. */
export type EpochMs = number
export type Ms = number

export const minuteSeconds = 60
export const hourSeconds = 3600
export const daySeconds = 86_400

/** RFC 3339 with a zone. A time without one is just text. */
const rfc3339Pattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Undefined if the value is not an RFC 3339 time. */
export function parseTime(value: unknown): EpochSeconds | undefined {
  if (typeof value !== 'string' || value.length > 40 || !rfc3339Pattern.test(value)) return undefined
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

/** `YYYY-MM-DDThh:mm:ssZ`: the form that the service documents and the warehouse stores. */
export function rfc3339(at: EpochSeconds): string {
  return `${new Date(at * 1000).toISOString().slice(0, 19)}Z`
}

/** The form of `rfc3339`, for a time in milliseconds. */
export function toTimestamp(at: EpochMs): string {
  return rfc3339(Math.floor(at / 1000))
}

/** The form of `rfc3339`, without 29 February, which not every year has. */
const normalizedPattern =
  /^[12]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/

/** The text is certainly in the form of `rfc3339`. True for nearly all times, which then need no conversion. */
export function isNormalizedTime(text: string): boolean {
  return normalizedPattern.test(text)
}
