/** Renders write-backs as a table: a line each, with names and words. */

import { formatAge } from '../../core/format.ts'
import { describeRequest, shortId } from '../../core/outbox/describe-request.ts'
import type { NamedEntry } from '../../core/outbox/named-entry.ts'
import { showInvisible } from '../../core/outbox/review-words.ts'
import type { EpochMs } from '../../core/time.ts'
import { targetIdOf } from '../../writeback/name-entries.ts'
import { alignColumns } from './table.ts'

const header = ['id', 'operation', 'visitor', 'what', 'ref', 'status', 'when', 'why']

export function renderEntries(entries: readonly NamedEntry[], now: EpochMs, indent = ''): string[] {
  return alignColumns([header, ...entries.map((entry) => toCells(entry, now))], indent)
}

function toCells(entry: NamedEntry, now: EpochMs): string[] {
  const { id, operation, ref, status, finishedAt, sentAt, createdAt } = entry
  return [
    shortId(id),
    operation,
    truncate(nameOfEntry(entry), 24),
    truncate(describeRequest(entry), 40),
    // A row without a ref of its own has its id as its ref.
    ref === null || ref === id ? '' : truncate(ref, 24),
    status,
    formatAge(finishedAt ?? sentAt ?? createdAt, now),
    status === 'succeeded' ? '' : showInvisible(entry.error ?? entry.step ?? ''),
  ]
}

/** The target's id where there is no name. */
export function nameOfEntry(entry: NamedEntry): string {
  return entry.visitorName ?? targetIdOf(entry)
}

function truncate(text: string, widest: number): string {
  const characters = [...showInvisible(text)]
  return characters.length > widest ? `${characters.slice(0, widest - 1).join('')}…` : characters.join('')
}
