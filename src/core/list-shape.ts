/**
 * A row that was read by its own id, in the shape in which lists show it. What only the one or the other shows would
 * change with each reading, back and forth: the list's copy is the row, and a single reading says what stands in it now.
 */
import { parseJson } from './json.ts'
import type { Json } from './row.ts'

/** `stored`: the row as it is mirrored, JSON text; undefined: it is not, and is taken as it came. */
export function toListShape(stored: string | undefined, read: Json): Json {
  return stored === undefined ? read : projectFields(parseJson(stored), read)
}

function projectFields(stored: Json, read: Json): Json {
  if (!isJsonObject(stored) || !isJsonObject(read)) return read
  // Not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      Object.hasOwn(read, name) ? projectFields(value, read[name] ?? null) : value,
    ]),
  )
}

function isJsonObject(value: Json): value is { readonly [field: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
