/** Reasons that differ only in ids, times and quoted words are one reason. Pure. */
import type { WritebackStatus } from './state.ts'

/** Write-backs that have a status for the same reason. `reason`: without ids and numbers that differ between rows. */
export type ReasonGroup = {
  readonly status: WritebackStatus
  readonly reason: string
  readonly count: number
  /** The id of one of them. */
  readonly example: string
}

const varyingParts: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '…'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g, '…'],
  [/\breq[-_][\w-]+/gi, '…'],
  // An HTTP status has three digits; ids have more.
  [/\b\d{5,}\b/g, '…'],
  [/"(?:[^"\\]|\\.)*"/g, '"…"'],
]

/** The reason without what differs between rows. */
export function toCommonReason(reason: string): string {
  return varyingParts.reduce((text, [pattern, instead]) => text.replace(pattern, instead), reason)
}

/** Adds up groups whose reasons are alike; most frequent first. */
export function collectReasons(groups: Iterable<ReasonGroup>): readonly ReasonGroup[] {
  const collected = new Map<string, ReasonGroup>()
  for (const { status, reason, count, example } of groups) {
    const common = toCommonReason(reason)
    const key = `${status} ${common}`
    const known = collected.get(key)
    collected.set(key, {
      status,
      reason: common,
      count: count + (known?.count ?? 0),
      example: known?.example ?? example,
    })
  }
  return [...collected.values()].sort((a, b) => b.count - a.count || a.reason.localeCompare(b.reason, 'en'))
}
