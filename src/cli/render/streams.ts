/** What several commands say of streams: why they were skipped or failed, gaps, differences. */
import type { StreamName } from '../../../schema/stream-specs.ts'
import { describeEvidence } from '../../mirror/core/audit.ts'
import type { AuditEstimate, Difference, GapReport, StreamReport } from '../../mirror/mirror.ts'
import { formatAge, pluralize, toPrintable } from '../../values/format.ts'
import type { EpochMs } from '../../values/time.ts'

/** One line per reason, with the streams that share it. */
export function renderStreamReasons(
  streams: readonly Pick<StreamReport, 'stream' | 'skipped' | 'failed'>[],
): string[] {
  const skipped = groupByReason(streams.map(({ stream, skipped }) => [stream, skipped]))
  const failed = groupByReason(streams.map(({ stream, failed }) => [stream, failed]))
  return [
    ...skipped.map(({ names, why }) => `skipped: ${names}: the key lacks the scope ${why}`),
    ...failed.map(({ names, why }) => `failed: ${names}: ${why}`),
  ].map(toPrintable)
}

/** Reasons that differ only in path and request id are the same; the first one is shown. */
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

const maxListedGaps = 20

/** The first gaps, and the number of the others. */
export function renderGaps(gaps: readonly GapReport[], all: number): string[] {
  const shown = gaps.slice(0, maxListedGaps).map(renderGap)
  const more = all - shown.length
  return more <= 0
    ? shown
    : [...shown, `… and ${pluralize(more, 'gap')} more: \`deskmirror export sync_gaps\` has all`]
}

function renderGap(gap: GapReport): string {
  const where = gap.from === null && gap.to === null ? '' : ` ${gap.from ?? '…'} – ${gap.to ?? '…'}`
  return toPrintable(`gap: ${gap.stream}${where}: ${gap.reason}`)
}

export function differenceRow({ stream, key, kind, fields }: Difference): string[] {
  return [stream, key, kind, fields.join(', ')]
}
