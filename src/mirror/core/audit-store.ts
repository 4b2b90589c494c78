/** Where audits are kept between the slices of a worker: a port that the warehouse implements with SQL. */

import type { EpochMs, Ms } from '../../values/time.ts'
import type { AuditedStream, AuditResult } from './audit.ts'
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

export type AuditStore = {
  readonly readOpen: (stream: AuditedStream) => Promise<OpenAudit | null>
  /** Ids of rows after one, in order, those marked as deleted included. */
  readonly listIds: (stream: AuditedStream, after: string | null, limit: number) => Promise<readonly string[]>
  /** If another process has begun one meanwhile: that one. */
  readonly start: (
    stream: AuditedStream,
    sample: { readonly population: number; readonly ids: readonly string[] },
    now: EpochMs,
  ) => Promise<OpenAudit>
  /** In the order in which they were drawn. */
  readonly listRows: (audit: OpenAudit, state: OpenRowState | 'gone', limit: number) => Promise<readonly AuditRow[]>
  /** Of rows in the state `from`: those that another process has settled meanwhile stay as they are. */
  readonly settle: (audit: OpenAudit, from: OpenRowState, results: readonly AuditRowResult[]) => Promise<void>
  readonly addWork: (audit: OpenAudit, work: { readonly requests: number; readonly tookMs: Ms }) => Promise<void>
  readonly markSynced: (audit: OpenAudit, now: EpochMs) => Promise<void>
  /**
   * A row that is still suspected or not corrected counts as differing, one that is still drawn not at all. Keeps only those
   * that differed. The result of an audit that another process has finished stays.
   */
  readonly finish: (audit: OpenAudit, now: EpochMs) => Promise<AuditResult>
  /** Rows that finished audits of the stream found to differ, the latest audits first. */
  readonly listCorrected: (stream: AuditedStream) => Promise<readonly AuditRow[]>
  /** What differed in these audits. */
  readonly listDifferences: (audits: readonly string[]) => Promise<readonly Difference[]>
  /** Of all streams, oldest first. */
  readonly listFinished: (since: EpochMs) => Promise<readonly AuditResult[]>
}

/**
 * Differences that were there before a sync and are there after it, while the mirror still stores the same row: the sync
 * read the service later than the first comparison did, and did not bring what that one saw. All others are changes of the
 * service that came after the last sync, or between the two comparisons.
 */
export function confirmedDifferences(
  before: readonly SeenDifference[],
  after: readonly SeenDifference[],
): readonly SeenDifference[] {
  const earlier = new Set(before.map(identityOf))
  return after.filter((difference) => earlier.has(identityOf(difference)))
}

function identityOf({ stream, key, storedHash }: SeenDifference): string {
  return JSON.stringify([stream, key, storedHash])
}
