/**
 * Lossless JSON: integers beyond 2^53 become bigints, numbers beyond the range of a double stay text. Decimals are doubles,
 * as everywhere in JavaScript.
 */

/** In Node since 21 (V8's "JSON.parse source text access"), but not yet in TypeScript's library. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
export const parseWith = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown
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
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

/** The JSON text of a value that may contain bigints; `parseJson` returns an equal value. */
export function stringifyJson(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? rawJson(String(part)) : part))
  }
}

/** Whether a number in it may differ from that of its text. Much faster than a search of the text. */
function hasInexactNumber(value: Json): boolean {
  const pending = [value]
  while (pending.length > 0) {
    const part = pending.pop()
    if (typeof part === 'number') {
      if (!Number.isFinite(part) || (Number.isInteger(part) && !Number.isSafeInteger(part))) return true
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
