/**
 * Finds undocumented fields of a row: by a name, however it is spelled, or by the dotted path by
 * which columns are discovered.
 */

import { asJsonObject, type Json, type JsonObject, type Scalar, stringifyJson } from './json.ts'

/** An undocumented field's value. `isJsonText`: the value is JSON text of an array or object. */
export type ExtraField = { readonly value: Scalar; readonly isJsonText: boolean }

/** Column discovery follows nested objects to this depth; anything deeper is one JSON value. */
export const maxDepth = 5

/** A name as a part of a path: its own dots are escaped. */
export function escapeDots(name: string): string {
  return name.includes('.') ? name.replaceAll('.', '\\.') : name
}

/**
 * For names that people write: an escaped dot is a plain one, unless a nested field has that path.
 */
export function unescapePaths(values: Map<string, unknown>): void {
  const escaped = [...values.keys()].filter((path) => path.includes('\\.'))
  for (const path of escaped.sort()) {
    const plain = path.replaceAll('\\.', '.')
    if (values.has(plain)) continue
    values.set(plain, values.get(path))
    values.delete(path)
  }
}

/** As `fieldAtNames`, for a path that a person wrote. */
export function fieldAtPath(row: Json, path: string): ExtraField | undefined {
  return fieldAtNames(row, path) ?? fieldAtNames(row, findPath(row, path) ?? path)
}

export const namesIn = (path: string): readonly string[] =>
  path
    .replaceAll('\\.', '\0')
    .split('.')
    .map((name) => name.replaceAll('\0', '.'))

/** Undefined if the row has no such field, or an object with fields there. */
export function fieldAtNames(row: Json, path: string): ExtraField | undefined {
  const names = namesIn(path)
  let value: Json | undefined = row
  for (const name of names) {
    const fields: JsonObject | null = asJsonObject(value)
    value = fields !== null && Object.hasOwn(fields, name) ? fields[name] : undefined
  }
  return value === undefined ? undefined : toExtraField(value, names.length)
}

/** The path of a field in which dots within names are not escaped. A nested field comes first. */
function findPath(row: Json, path: string, depth = 1): string | undefined {
  const fields = asJsonObject(row)
  if (fields === null) return undefined
  for (
    let dot = path.indexOf('.');
    dot !== -1 && depth < maxDepth;
    dot = path.indexOf('.', dot + 1)
  ) {
    const name = path.slice(0, dot)
    const rest = Object.hasOwn(fields, name)
      ? findPath(fields[name] ?? null, path.slice(dot + 1), depth + 1)
      : undefined
    if (rest !== undefined) return `${escapeDots(name)}.${rest}`
  }
  const isField =
    Object.hasOwn(fields, path) && toExtraField(fields[path] ?? null, depth) !== undefined
  return isField ? escapeDots(path) : undefined
}

function toExtraField(value: Json, depth: number): ExtraField | undefined {
  if (typeof value !== 'object' || value === null) return { value, isJsonText: false }
  const isLeaf = Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0
  return isLeaf ? { value: stringifyJson(value), isJsonText: true } : undefined
}

/** Fields with longer names are neither keys nor times. */
export const maxNameLength = 200

/**
 * The key of a row as text: the first of these fields that contains one; null if none does. Names
 * are compared without case and underscores because undocumented fields may be spelled in any way.
 */
export function findKey(item: Json, names: readonly string[]): string | null {
  const row = asJsonObject(item)
  if (row === null) return null
  if (names[0] !== undefined && isKey(row[names[0]])) return String(row[names[0]])
  for (const name of names) {
    let value: Json | undefined
    // The last one counts, as in JSON itself.
    for (const field in row) if (hasName(field, name)) value = row[field]
    if (isKey(value)) return String(value)
  }
  return null
}

function hasName(field: string, name: string): boolean {
  return field.length <= maxNameLength && normalizeName(field) === name
}

/** `visitor_id`, `visitorId` and `VisitorID` become the same name. */
export function normalizeName(field: string): string {
  const known = normalizedNames.get(field)
  if (known !== undefined) return known
  const plain = field.replaceAll('_', '').toLowerCase()
  if (normalizedNames.size < 2000 && field.length <= maxNameLength)
    normalizedNames.set(field, plain)
  return plain
}

/** A cache, because all rows have the same few names. */
const normalizedNames = new Map<string, string>()

function isKey(value: Json | undefined): boolean {
  return (
    (typeof value === 'string' && value !== '') ||
    typeof value === 'number' ||
    typeof value === 'bigint'
  )
}

export function findField(item: JsonObject, name: string): Json | undefined {
  for (const field in item) if (hasName(field, name)) return item[field]
  return undefined
}
