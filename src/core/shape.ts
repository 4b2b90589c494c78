/**
 * A row that was read by its own id, in the shape in which lists show it. What only the one or the other shows would
 * change with each reading, back and forth: the list's copy is the row, and a single reading says what stands in it now.
 */
import { parseJson } from './json.ts'
import type { Json } from './row.ts'

/** `stored`: the row as it is mirrored, JSON text; undefined: it is not, and is taken as it came. */
export function inShapeOf(stored: string | undefined, read: Json): Json {
  return stored === undefined ? read : shaped(parseJson(stored), read)
}

function shaped(stored: Json, read: Json): Json {
  if (!isFields(stored) || !isFields(read)) return read
  // Not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      Object.hasOwn(read, name) ? shaped(value, read[name] ?? null) : value,
    ]),
  )
}

function isFields(value: Json): value is { readonly [field: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
