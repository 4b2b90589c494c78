/**
 * Converts a row that was read by its id to the shape of the list: fields that only one of the two
 * contains, or shows differently, would change with every read.
 */
import type { ListStreamName } from '../../../schema/stream-specs.ts'
import { asJsonObject, type Json, parseJson, tryParseJson } from '../../values/json.ts'
import { isSameId } from './path-segment.ts'

/** Fields that a read by id shows otherwise than the list, as a JSON list of their names. */
export const differingFieldsBehaviour = (stream: ListStreamName) => `${stream}.fields_by_id`

/** The list's values of these fields are stored, and not compared with those of a read by id. */
export function listOnlyFields(
  behaviours: ReadonlyMap<string, string>,
  stream: ListStreamName,
): ReadonlySet<string> {
  const names = tryParseJson(behaviours.get(differingFieldsBehaviour(stream)) ?? '[]')
  return new Set(Array.isArray(names) ? names.map(String) : [])
}

/** `stored`: JSON text; undefined: the row is taken as it came. */
export function toListShape<Item extends Json>(
  stored: string | undefined,
  read: Item,
  listOnly: ReadonlySet<string> = new Set(),
): Item {
  return stored === undefined ? read : (projectFields(parseJson(stored), read, listOnly) as Item)
}

function projectFields(stored: Json, read: Json, listOnly: ReadonlySet<string> = new Set()): Json {
  const before = asJsonObject(stored)
  const now = asJsonObject(read)
  // The same id in other letters is no change.
  if (before === null || now === null) return isSameId(stored, read) ? stored : read
  // Not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(before).map(([name, value]) => [
      name,
      Object.hasOwn(now, name) && !listOnly.has(name)
        ? projectFields(value, now[name] ?? null)
        : value,
    ]),
  )
}
