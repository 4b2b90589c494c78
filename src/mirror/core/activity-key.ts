/** What identifies an entry of a visitor's activity. No field of it is documented, not even an id. */
import { hash } from 'node:crypto'
import type { Json } from '../../values/json.ts'
import { asJsonObject, stringifyJson } from '../../values/json.ts'
import { findKey } from './item-fields.ts'

/** Hexadecimal digits. Older versions stored all 64, of the id alone if there was one. */
const keyLength = 32

/**
 * A hash of the entry's id and its time, so that a changed entry stays one row. The id alone may be that of the page or the
 * conversation that the entry is about, which other entries share. Without one of the two, a hash of the whole entry.
 * `at`: its time.
 */
export function activityKey(item: Json, at: string | null): string {
  const id = at === null ? null : entryId(item)
  return id === null ? contentHash(item) : hash('sha256', `id:${id} at:${at}`).slice(0, keyLength)
}

/** Of the whole entry, in whatever order its fields come. */
export function contentHash(item: Json): string {
  return hash('sha256', stringifyJson(withSortedKeys(item))).slice(0, keyLength)
}

/** The key of an entry that an older version stored with a key of 64 digits. */
export function renewActivityKey(item: Json, at: string | null, older: string): string {
  return entryId(item) === null ? older.slice(0, keyLength) : activityKey(item, at)
}

export function entryId(item: Json): string | null {
  return findKey(item, ['id', 'entryid', 'activityid', 'uuid'])
}

function withSortedKeys(item: Json): Json {
  if (Array.isArray(item)) return item.map(withSortedKeys)
  const fields = asJsonObject(item)
  if (fields === null) return item
  const names = Object.keys(fields).sort()
  return Object.fromEntries(names.map((name) => [name, withSortedKeys(fields[name] as Json)]))
}
