/**
 * Converts a row that was read by its id to the shape that the list shows. Otherwise fields that only one of the two
 * responses contains would appear and vanish with every read.
 */
import { asJsonObject, parseJson } from './json.ts'
import type { Json } from './row.ts'
import { isSameId } from './same-id.ts'

/** `stored`: the mirrored row as JSON text; undefined if there is none, then the row is taken as it came. */
export function toListShape(stored: string | undefined, read: Json): Json {
  return stored === undefined ? read : projectFields(parseJson(stored), read)
}

function projectFields(stored: Json, read: Json): Json {
  const [before, now] = [asJsonObject(stored), asJsonObject(read)]
  // The same id in other letters is no change.
  if (before === null || now === null) return isSameId(stored, read) ? stored : read
  // Not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(before).map(([name, value]) => [
      name,
      Object.hasOwn(now, name) ? projectFields(value, now[name] ?? null) : value,
    ]),
  )
}
