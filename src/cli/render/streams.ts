/** Sentences about streams: why they were skipped or failed, each reason once, and what audits show. */

import type { StreamName } from '../../../schema/stream-specs.ts'
import { describeEvidence } from '../../mirror/core/audit.ts'
import type { AuditEstimate } from '../../mirror/mirror.ts'
import { formatAge, toPrintable } from '../../values/format.ts'
import type { EpochMs } from '../../values/time.ts'

type StreamEnd = { readonly stream: StreamName; readonly skipped: string | null; readonly failed: string | null }

/** One line per reason, with the streams that share it. */
export function renderStreamReasons(streams: readonly StreamEnd[]): string[] {
  const skipped = groupByReason(streams.map(({ stream, skipped }) => [stream, skipped]))
  const failed = groupByReason(streams.map(({ stream, failed }) => [stream, failed]))
  return [
    ...skipped.map(({ names, why }) => `skipped: ${names}: the key lacks the scope ${why}`),
    ...failed.map(({ names, why }) => `failed: ${names}: ${why}`),
  ].map(toPrintable)
}

/** Reasons that differ only in the path and the request id count as the same; the first one is shown, with its id. */
function groupByReason(reasons: readonly (readonly [StreamName, string | null])[]) {
  const stated = reasons.flatMap(([name, why]) =>
    why === null ? [] : [{ name, why: why.replace(/^[A-Z]+ \/\S*: /, '') }],
  )
  const alike = Map.groupBy(stated, ({ why }) => withoutRequestId(why))
  return [...alike.values()].map((same) => ({
    why: same[0]?.why ?? '',
    names: same.map(({ name }) => name).join(', '),
  }))
}

function withoutRequestId(why: string): string {
  const at = why.lastIndexOf(' (request ')
  return at === -1 || !why.endsWith(')') ? why : why.slice(0, at)
}

/** One row for each stream, below the same name. */
export function auditRows(estimates: readonly AuditEstimate[], now: EpochMs): string[][] {
  return estimates.map((estimate, n) => [
    n === 0 ? 'audit' : '',
    `${estimate.words}; ${describeEvidence(estimate)}; last ${formatAge(estimate.lastAt, now)}`,
  ])
}
