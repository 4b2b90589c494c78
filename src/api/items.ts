/** The rows of a list, built from the pieces of an answer: all of them where they are few, else a portion at a time. */
import type { Items, ItemsPortion } from '../core/call.ts'
import { parseJson, readJson } from '../core/json.ts'
import type { Json, Refused } from '../core/row.ts'
import { toText } from './decode.ts'
import type { Dropped, Portion } from './scan.ts'

/** `data` with its list back in place, or beside it where that is large. Null: the rows are not JSON. */
export function fill(data: Json, portions: readonly Portion[] | null): { data: Json; items?: Items } | null {
  if (portions === null || portions.length === 0) return { data }
  const [only] = portions
  if (portions.length > 1 || only === undefined || only.dropped.size > 0) {
    const items = itemsOf(portions)
    const hasMore = typeof data === 'object' && data !== null && 'hasMore' in data ? (data.hasMore as Json) : false
    return items === null ? null : { data: { hasMore }, items }
  }
  const items = parsed(only)
  if (items === null) return null
  return { data: Array.isArray(data) ? items : { ...(data as Record<string, Json>), items } }
}

/** Null: they are not JSON. */
function itemsOf(portions: readonly Portion[]): Items | null {
  const counts = portions.map((portion) => parsed(portion)?.length ?? null)
  if (counts.includes(null)) return null
  return {
    count: counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    portions: function* () {
      for (const portion of portions) yield built(portion)
    },
  }
}

/** The rows of a list that is built already; null: it is no list. */
export function builtItems(items: Json | undefined): Items | null {
  if (!Array.isArray(items)) return null
  return { count: items.length, portions: () => [{ items, refused: [] }] }
}

function parsed({ bytes }: Portion): readonly Json[] | null {
  const text = toText(bytes)
  const items = text === null ? undefined : readJson(text)
  return Array.isArray(items) ? items : null
}

function built(portion: Portion): ItemsPortion {
  const items = parsed(portion) ?? []
  if (portion.dropped.size === 0) return { items, refused: [] }
  const refused = [...portion.dropped.values()].map(refusedOf)
  return { items: items.filter((_, i) => !portion.dropped.has(i)), refused }
}

function refusedOf({ head, why }: Dropped): Refused {
  return { id: idIn(head), why }
}

/** The id among the first members of a row that is cut off somewhere; null where none of them is whole and says it. */
function idIn(head: Buffer): string | null {
  const text = head.toString('utf8')
  const ends = outerCommas(text).reverse()
  const fields = ends.map((end) => readObject(`${text.slice(0, end)}}`)).find((found) => found !== null)
  const named = Object.entries(fields ?? {}).filter(([name]) => /id$/i.test(name) && !/project/i.test(name))
  const [, id] = named.find(([name]) => name === 'id') ?? named[0] ?? []
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id).slice(0, 100) : null
}

function readObject(text: string): Readonly<Record<string, Json>> | null {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, Json>) : null
  } catch {
    return null
  }
}

/** Where members of the outer object end: at most the first twenty. */
function outerCommas(text: string): number[] {
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
