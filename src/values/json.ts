/**
 * Lossless JSON: integers beyond 2^53 become bigints, numbers beyond the range of a double stay
 * text. Decimals are doubles, as everywhere in JavaScript.
 */
import { trimEnd } from './format.ts'

/** In Node since 21 (V8's "JSON.parse source text access"), but not yet in TypeScript's library. */
const parseWith = JSON.parse as unknown as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown
export const rawJson: (text: string) => unknown = Reflect.get(JSON, 'rawJSON')

/** Throws SyntaxError, as JSON.parse does. */
export function parseJson(text: string): Json {
  const value: Json = JSON.parse(text)
  if (!hasInexactNumber(value)) return value
  return parseWith(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? toLosslessNumber(value, source) : value,
  ) as Json
}

/** Undefined if the text is not JSON. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

export type JsonObject = { readonly [field: string]: Json }

/** Null if the value is not an object. */
export function asJsonObject(value: Json | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null
}

/** The JSON text of a value that may contain bigints; `parseJson` returns an equal value. */
export function stringifyJson(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, part) =>
      typeof part === 'bigint' ? rawJson(String(part)) : part,
    )
  }
}

/**
 * Whether a number in it may differ from that of its text. Much faster than a search of the text.
 */
function hasInexactNumber(value: Json): boolean {
  const pending = [value]
  while (pending.length > 0) {
    const part = pending.pop()
    if (typeof part === 'number') {
      if (!Number.isFinite(part) || (Number.isInteger(part) && !Number.isSafeInteger(part)))
        return true
    } else if (Array.isArray(part)) for (const element of part) pending.push(element)
    else if (typeof part === 'object' && part !== null)
      for (const name in part) pending.push((part as JsonObject)[name] as Json)
  }
  return false
}

function toLosslessNumber(value: number, source: string): number | bigint | string {
  if (!Number.isFinite(value)) return source
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : BigInt(source)
}

/** The value of a column. A bigint is an integer beyond 2^53. */
export type Scalar = string | number | bigint | boolean | null

/** Any JSON as `parseJson` returns it: like JSON.parse, but integers beyond 2^53 are bigints. */
export type Json = Scalar | readonly Json[] | { readonly [key: string]: Json }

/** Number literals that JavaScript may not keep or prints in another form. Has false positives. */
const unusualNumber = /(?:^|[:,[\s])-?(?:\d{16}|[\d.]{16}|\d[\d.]*[eE]|0\.0{6})/

const isRawJson: (value: unknown) => value is { readonly rawJSON: string } = Reflect.get(
  JSON,
  'isRawJSON',
)

/**
 * One text for each JSON value, whichever database stored it: Postgres reorders members and
 * rewrites numbers, SQLite keeps the text of the service. Members are sorted, numbers keep all of
 * their digits. A text that is not JSON is returned as it is.
 */
export function toCanonicalJson(text: string): string {
  try {
    return stringify(unusualNumber.test(text) ? parseWith(text, keepDigits) : JSON.parse(text))
  } catch (error) {
    // A RangeError: nested too deeply for the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return text
    throw error
  }
}

function keepDigits(
  _key: string,
  value: unknown,
  { source }: { readonly source?: string },
): unknown {
  return typeof value === 'number' && source !== undefined ? rawJson(toPlainNumber(source)) : value
}

function stringify(value: unknown): string {
  if (isRawJson(value)) return value.rawJSON
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(',')}}`
}

/** Beyond this many zeros a number keeps an exponent. */
const maxZeros = 400

/** `1.50` and `15e-1` are `1.5`; `1e22` is 1 and 22 zeros. */
export function toPlainNumber(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = trimEnd(digits, '0')
  if (significant === '') return '0'
  const scale = Number(exponent) - fraction.length + digits.length - significant.length
  return sign + placePoint(significant, scale)
}

/** The number `digits` × 10^`scale`. */
function placePoint(digits: string, scale: number): string {
  if (Math.abs(scale) > maxZeros) return `${digits}e${scale}`
  if (scale >= 0) return digits + '0'.repeat(scale)
  const padded = digits.padStart(1 - scale, '0')
  return `${padded.slice(0, scale)}.${padded.slice(scale)}`
}
