/** What a write-back asks for, in words, whether it is valid or not. Pure. */
import type { NamedEntry } from './named-entry.ts'
import { describeValue } from './review-labels.ts'

/** `"We have found it."` · `handled` · `name "Ada", email none` */
export function describeRequest({
  operation,
  payload,
  firstWords,
}: Pick<NamedEntry, 'operation' | 'payload' | 'firstWords'>): string {
  if (firstWords !== null) return JSON.stringify(firstWords)
  if (operation === 'handled') return payload.handled === false ? 'open' : 'handled'
  return Object.entries(payload)
    .map(
      ([field, value]) =>
        `${field} ${typeof value === 'string' || value === null ? describeValue(value) : JSON.stringify(value)}`,
    )
    .join(', ')
}

/**
 * Enough of an id to tell write-backs apart and to type: its end, which is random. Ids of one import begin alike, as they
 * begin with the time.
 */
export function shortId(id: string): string {
  return id.slice(-8)
}
