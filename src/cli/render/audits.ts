/** What audits show, as sentences: for `status` and `audit`. */
import { type AuditEstimate, describeEvidence } from '../../core/audit.ts'
import { formatAge } from '../../core/format.ts'
import type { EpochMs } from '../../core/time.ts'

/** One row for each stream, below the same name. */
export function auditRows(estimates: readonly AuditEstimate[], now: EpochMs): string[][] {
  return estimates.map((estimate, n) => [
    n === 0 ? 'audit' : '',
    `${estimate.words}; ${describeEvidence(estimate)}; last ${formatAge(estimate.lastAt, now)}`,
  ])
}
