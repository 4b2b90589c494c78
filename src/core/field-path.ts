/** Reads an undocumented field of a row by its dotted path, by the same rules by which columns are discovered. */
import { asJsonObject, stringifyJson } from './json.ts'
import type { ExtraField, Json } from './row.ts'

/** Column discovery follows nested objects to this depth; anything deeper is one JSON value. */
export const maxDepth = 5

/** Undefined if the row has no such field, or an object with fields there. A dot may also be part of a name. */
export function fieldAtPath(row: Json, path: string, depth = 1): ExtraField | undefined {
  const fields = asJsonObject(row)
  if (fields === null) return undefined
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
  const isLeaf = Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0
  return isLeaf ? { value: stringifyJson(value), isJsonText: true } : undefined
}
