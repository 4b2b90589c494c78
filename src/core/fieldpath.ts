/** Finds an undocumented field in a row again by its dotted path, as a column's values were once found. */
import { stringifyJson } from './json.ts'
import type { Extra, Json } from './row.ts'

/** Nested objects are followed this deep when columns are found; what lies deeper is one JSON value. */
const deepest = 5

/** Undefined where the row has no such field, or has fields of its own there. A dot may also be part of a name. */
export function fieldAt(row: Json, path: string, depth = 1): Extra | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return undefined
  const fields = row as Readonly<Record<string, Json>>
  for (let dot = path.indexOf('.'); dot !== -1 && depth < deepest; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const found = Object.hasOwn(fields, name)
      ? fieldAt(fields[name] ?? null, path.slice(dot + 1), depth + 1)
      : undefined
    if (found !== undefined) return found
  }
  return Object.hasOwn(fields, path) ? leaf(fields[path] ?? null, depth) : undefined
}

function leaf(value: Json, depth: number): Extra | undefined {
  if (typeof value !== 'object' || value === null) return { value, json: false }
  const whole = Array.isArray(value) || depth === deepest || Object.keys(value).length === 0
  return whole ? { value: stringifyJson(value), json: true } : undefined
}
