/** The rows of an audit, and which of their differences count. Pure. */
import type { EpochMs } from '../../values/time.ts'
import type { AuditedStream } from './audit.ts'
import type { Difference } from './reports.ts'

/** An audit that has not finished. */
export type OpenAudit = {
  readonly id: string
  readonly stream: AuditedStream
  readonly startedAt: EpochMs
  readonly drawn: number
  /** The sync that followed the first comparison has ended. */
  readonly isSynced: boolean
}

/** A difference, and a hash of the row that is stored here; null = none is. */
export type SeenDifference = Difference & { readonly storedHash: string | null }

/**
 * `drawn`: not read yet. `suspected`: it differed; the sync that follows may still bring the change. `confirmed`: it differs,
 * and is not corrected yet. The others are final.
 */
export type AuditRowState = 'drawn' | 'suspected' | 'confirmed' | 'equal' | 'differing' | 'gone' | 'unreadable'

/** The states that an audit works on, in this order. */
export type OpenRowState = Extract<AuditRowState, 'drawn' | 'suspected' | 'confirmed'>

export type AuditRow = { readonly id: string; readonly differences: readonly SeenDifference[] }

export type AuditRowResult = AuditRow & { readonly state: AuditRowState }

/**
 * Differences that were there before a sync and are there after it, while the mirror still stores the same row: the sync
 * read the service later than the first comparison did, and did not bring what that one saw. All others are changes of the
 * service that came after the last sync, or between the two comparisons.
 */
export function confirmedDifferences(before: readonly SeenDifference[], after: readonly SeenDifference[]) {
  const earlier = new Set(before.map(identityOf))
  return after.filter((difference) => earlier.has(identityOf(difference)))
}

function identityOf({ stream, key, storedHash }: SeenDifference): string {
  return JSON.stringify([stream, key, storedHash])
}
