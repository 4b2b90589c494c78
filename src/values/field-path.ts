/** Reads an undocumented field of a row by its dotted path, by the same rules by which columns are discovered. */

import { asJsonObject, type Json, type JsonObject, type Scalar, stringifyJson } from './json.ts'

/** An undocumented field's value. `isJsonText`: the value is JSON text of an array or object. */
export type ExtraField = { readonly value: Scalar; readonly isJsonText: boolean }

/** Column discovery follows nested objects to this depth; anything deeper is one JSON value. */
export const maxDepth = 5

/** A name as a part of a path: its own dots are escaped. */
export function escapeDots(name: string): string {
  return name.includes('.') ? name.replaceAll('.', '\\.') : name
}

/** For names that people write: an escaped dot is a plain one, unless a nested field has that path. */
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

/** Undefined if the row has no such field, or an object with fields there. */
export function fieldAtNames(row: Json, path: string): ExtraField | undefined {
  const names = path.replaceAll('\\.', '\0').split('.')
  let value: Json | undefined = row
  for (const name of names) {
    const fields: JsonObject | null = asJsonObject(value)
    const field = name.replaceAll('\0', '.')
    value = fields !== null && Object.hasOwn(fields, field) ? fields[field] : undefined
  }
  return value === undefined ? undefined : toExtraField(value, names.length)
}

/** The path of a field in which dots within names are not escaped. A nested field comes first. */
export function findPath(row: Json, path: string, depth = 1): string | undefined {
  const fields = asJsonObject(row)
  if (fields === null) return undefined
  for (let dot = path.indexOf('.'); dot !== -1 && depth < maxDepth; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const rest = Object.hasOwn(fields, name)
      ? findPath(fields[name] ?? null, path.slice(dot + 1), depth + 1)
      : undefined
    if (rest !== undefined) return `${escapeDots(name)}.${rest}`
  }
  const isField = Object.hasOwn(fields, path) && toExtraField(fields[path] ?? null, depth) !== undefined
  return isField ? escapeDots(path) : undefined
}

function toExtraField(value: Json, depth: number): ExtraField | undefined {
  if (typeof value !== 'object' || value === null) return { value, isJsonText: false }
  const isLeaf = Array.isArray(value) || depth === maxDepth || Object.keys(value).length === 0
  return isLeaf ? { value: stringifyJson(value), isJsonText: true } : undefined
}
