/**
 * Characters that a database cannot store, escaped reversibly: `␛` and four hexadecimal digits, so
 * NUL is `␛0000` and a `␛` (U+241B) is `␛241b`. Postgres cannot store NUL, and neither database can
 * store half of a surrogate pair.
 */
import type { DatabaseKind } from '../../schema/column-types.ts'

const escapeMark = '\u241b'

const unstorableChars: Readonly<Record<DatabaseKind, RegExp>> = {
  sqlite: /\u241b|\p{Surrogate}/gu,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it has to match NUL.
  postgres: /\u0000|\u241b|\p{Surrogate}/gu,
}

export function encodeText(kind: DatabaseKind, text: string): string {
  return text.replace(unstorableChars[kind], (unit) => escapeMark + hex(unit))
}

export function decodeText<Stored extends string | null>(stored: Stored): Stored {
  const toUnit = (_: string, unit: string) => String.fromCharCode(Number.parseInt(unit, 16))
  return (stored?.replace(/\u241b([0-9a-f]{4})/g, toUnit) ?? null) as Stored
}

/**
 * Escapes what cannot be stored within its strings. SQLite stores JSON's own escapes as they are.
 */
export function encodeJson(kind: DatabaseKind, json: string): string {
  if (kind === 'sqlite')
    return json.isWellFormed() ? json : json.replace(/\p{Surrogate}/gu, (unit) => `\\u${hex(unit)}`)
  if (!json.includes('\\u') && !json.includes(escapeMark) && json.isWellFormed()) return json
  return json.replace(jsonParts, (part, pair?: string, unit?: string) => {
    if (pair !== undefined || (part.startsWith('\\') && unit === undefined)) return part
    if (unit === undefined) return escapeMark + hex(part)
    return unit === '0000' || /^(d[89a-f]|241b)/i.test(unit)
      ? escapeMark + unit.toLowerCase()
      : part
  })
}

export function decodeJson(kind: DatabaseKind, stored: string): string {
  return kind === 'sqlite' || !stored.includes(escapeMark)
    ? stored
    : stored.replace(/\u241b([0-9a-f]{4})/g, '\\u$1')
}

/** A surrogate pair or another escape (kept), one `\uXXXX`, or a character that must not stand. */
const jsonParts =
  /(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|\\u([\da-fA-F]{4})|\\[^u]|\u241b|\p{Surrogate}/gu

const hex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0')
