/** Finds an undocumented field in a row again by its dotted path, as a column's values were once found. */
import { stringifyJson } from './json.ts'
import type { Extra, Json } from './row.ts'

/** Undefined where the row has no such field, or an object there. A dot may also be part of a name. */
export function fieldAt(row: Json, path: string): Extra | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return undefined
  const fields = row as Readonly<Record<string, Json>>
  if (Object.hasOwn(fields, path)) {
    const found = leaf(fields[path] ?? null)
    if (found !== undefined) return found
  }
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const found = Object.hasOwn(fields, name) ? fieldAt(fields[name] ?? null, path.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function leaf(value: Json): Extra | undefined {
  if (Array.isArray(value)) return { value: stringifyJson(value), json: true }
  return typeof value === 'object' && value !== null ? undefined : { value: value as Extra['value'], json: false }
}
