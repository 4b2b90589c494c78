/** Parses the rows of a list from the pieces of a response: all at once if they are few, else batch by batch. */

import type { Json } from '../values/json.ts'
import { asJsonObject, tryParseJson } from '../values/json.ts'
import type { ItemBatch, ListItems } from './core/api-request.ts'
import { decodeUtf8 } from './decode.ts'
import type { RowBatch } from './row-batches.ts'

/** `data` with its list put back, or the list separately if it is large. Null: the rows are not JSON. */
export function attachItems(data: Json, batches: readonly RowBatch[] | null): { data: Json; items?: ListItems } | null {
  if (batches === null || batches.length === 0) return { data }
  const [batch] = batches
  if (batches.length > 1 || batch === undefined || batch.dropped.size > 0) {
    const items = lazyItems(batches)
    return items && { data: { hasMore: asJsonObject(data)?.hasMore ?? false }, items }
  }
  const items = parseBatch(batch)
  return items && { data: Array.isArray(data) ? items : { ...asJsonObject(data), items } }
}

/** Null: the rows are not JSON. */
function lazyItems(batches: readonly RowBatch[]): ListItems | null {
  let count = 0
  for (const batch of batches) {
    const items = parseBatch(batch)
    if (items === null) return null
    count += items.length
  }
  return { count, batches: () => batches.values().map(buildBatch) }
}

/** The rows of a parsed list; null: not a list. */
export function toItems(items: Json | undefined): ListItems | null {
  if (!Array.isArray(items)) return null
  return { count: items.length, batches: () => [{ items, rejectedRows: [] }] }
}

function parseBatch({ bytes }: RowBatch): readonly Json[] | null {
  const text = decodeUtf8(bytes)
  const items = text === null ? undefined : tryParseJson(text)
  return Array.isArray(items) ? items : null
}

function buildBatch(batch: RowBatch): ItemBatch {
  const items = parseBatch(batch) ?? []
  if (batch.dropped.size === 0) return { items, rejectedRows: [] }
  const rejectedRows = [...batch.dropped.values()].map(({ head, why }) => ({ id: findRowId(head), why }))
  return { items: items.filter((_, i) => !batch.dropped.has(i)), rejectedRows }
}

/** The id among the first members of a truncated row; null if no complete member has it. */
function findRowId(head: Buffer): string | null {
  const text = head.toString('utf8')
  const ends = memberEnds(text).reverse()
  const parsed = ends.values().map((end) => asJsonObject(tryParseJson(`${text.slice(0, end)}}`)))
  const fields = parsed.find((found) => found !== null)
  const idFields = Object.entries(fields ?? {}).filter(([name]) => /id$/i.test(name) && !/project/i.test(name))
  const [, id] = idFields.find(([name]) => name === 'id') ?? idFields[0] ?? []
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id).slice(0, 100) : null
}

/** Indexes at which the first members of the outer object end, at most twenty. */
function memberEnds(text: string): number[] {
  const found: number[] = []
  let [level, inString] = [0, false]
  for (let i = 0; i < text.length && found.length < 20; i++) {
    const letter = text[i] ?? ''
    if (letter === '\\') i += 1
    else if (letter === '"') inString = !inString
    else if (!inString && '[{'.includes(letter)) level += 1
    else if (!inString && ']}'.includes(letter)) level -= 1
    else if (!inString && letter === ',' && level === 1) found.push(i)
  }
  return found
}
