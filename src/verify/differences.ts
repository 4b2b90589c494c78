/** What differs between two copies of a row. */
import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../core/json.ts'
import type { Json } from '../core/row.ts'

/**
 * The top-level fields in which two rows differ, whatever the order of their fields; `(all)` where one is no object.
 * `of`: only the fields that both show: a list may show a row otherwise than a reading by its id.
 */
export function differingFields(here: string, there: string, of: 'any' | 'both' = 'any'): readonly string[] {
  if (here === there) return []
  const [a, b] = [parseJson(here), parseJson(there)]
  if (!isJsonObject(a) || !isJsonObject(b)) return isDeepStrictEqual(a, b) ? [] : ['(all)']
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  const compared = of === 'any' ? names : names.filter((name) => Object.hasOwn(a, name) && Object.hasOwn(b, name))
  return compared.filter((name) => !isDeepStrictEqual(a[name], b[name]))
}

function isJsonObject(value: Json): value is { readonly [field: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
