/** Finds an undocumented field in a row again by its dotted path, as a column's values were once found. */
import { stringifyJson } from './json.ts'
import type { ExtraField, Json } from './row.ts'

/** Nested objects are followed this deep when columns are found; what lies deeper is one JSON value. */
const maxDepth = 5

/** Undefined where the row has no such field, or has fields of its own there. A dot may also be part of a name. */
export function fieldAtPath(row: Json, path: string, depth = 1): ExtraField | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return undefined
  const fields = row as Readonly<Record<string, Json>>
  for (let dot = path.indexOf('.'); dot !== -1 && depth < maxDepth; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const found = Object.hasOwn(fields, name)
      ? fieldAtPath(fields[name] ?? null, path.slice(dot + 1), depth + 1)
      : undefined
    if (found !== undefined) return found
  }
  return Object.hasOwn(fields, path) ? toExtraField(fields[path] ?? null, depth) : undefined
}

function toExtraField(value: Json, depth: number): ExtraField | undefined {
  if (typeof value !== 'object' || value === null) return { value, isJsonText: false }
  const whole = Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0
  return whole ? { value: stringifyJson(value), isJsonText: true } : undefined
}
