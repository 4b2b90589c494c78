/**
 * JSON without loss: integers beyond 2^53 are bigints, numbers beyond the range of a double are kept as their text.
 * Decimals are doubles, as everywhere in JavaScript. Where no such number can occur this is JSON.parse itself.
 */
import type { Json } from './row.ts'

/** Finds number literals that a double may not hold: 16 digits in a row, or a three-digit exponent. May find too much. */
const mayLosePrecision = /(?:^|[:,[\s])-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/

/** Node has these since 21 (V8's "JSON.parse source text access"); TypeScript's library does not know them yet. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parseWith = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown
const rawJson: (text: string) => unknown = Reflect.get(JSON, 'rawJSON')

/** Throws SyntaxError as JSON.parse does. */
export function parseJson(text: string): Json {
  if (!mayLosePrecision.test(text)) return JSON.parse(text)
  return parseWith(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? toLosslessNumber(value, source) : value,
  ) as Json
}

/** undefined: it is no JSON. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The JSON text of a value that may hold bigints; `parseJson` gives the same value back. */
export function stringifyJson(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? rawJson(String(part)) : part))
  }
}

function toLosslessNumber(value: number, source: string): number | bigint | string {
  if (!Number.isFinite(value)) return source
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : BigInt(source)
}
