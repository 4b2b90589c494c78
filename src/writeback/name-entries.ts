/** Adds names and words from the mirror to write-backs that a person looks at. */

import { type NamedEntry, toNamedEntry } from '../core/outbox/named-entry.ts'
import type { OutboxEntry } from '../core/outbox/outbox-entry.ts'
import type { ReviewReader } from '../core/outbox/review-reader.ts'
import { operationTypes } from '../core/outbox/writeback-request.ts'

export async function nameEntries(
  { readTargets }: Pick<ReviewReader, 'readTargets'>,
  entries: readonly OutboxEntry[],
): Promise<readonly NamedEntry[]> {
  const targets = await readTargets(entries.map((entry) => ({ operation: entry.operation, target: targetIdOf(entry) })))
  return entries.map((entry, index) => toNamedEntry(entry, targets[index] ?? null))
}

/** The id of the conversation or the visitor. */
export function targetIdOf({ operation, conversationId, visitorId }: OutboxEntry): string {
  return (operationTypes[operation].target === 'conversation' ? conversationId : visitorId) ?? ''
}
