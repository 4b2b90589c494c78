/**
 * Counts outcomes by reason: those that differ only in ids, times and quoted words are one. Pure.
 */

import type { Operation } from './operations.ts'
import type { Writeback, WritebackOutcome } from './outbox-entry.ts'
import type { WritebackStatus } from './state.ts'

/** `reason`: without ids and numbers that differ between rows. */
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
  // Ids of messages may have few digits. An HTTP status has three; other ids have more.
  [/\bmessage \d+\b/g, 'message …'],
  [/\b\d{5,}\b/g, '…'],
  [/"(?:[^"\\]|\\.)*"/g, '"…"'],
]

export function toCommonReason(reason: string): string {
  return varyingParts.reduce((text, [pattern, instead]) => text.replace(pattern, instead), reason)
}

function addGroup(
  groups: Map<string, ReasonGroup>,
  { status, reason, count, example }: ReasonGroup,
): void {
  const known = groups.get(`${status} ${reason}`)
  const total = count + (known?.count ?? 0)
  groups.set(`${status} ${reason}`, {
    status,
    reason,
    count: total,
    example: known?.example ?? example,
  })
}

/** Adds up groups whose reasons are alike; most frequent first. */
export function collectReasons(groups: Iterable<ReasonGroup>): readonly ReasonGroup[] {
  const collected = new Map<string, ReasonGroup>()
  for (const group of groups)
    addGroup(collected, { ...group, reason: toCommonReason(group.reason) })
  return [...collected.values()].sort(
    (a, b) => b.count - a.count || a.reason.localeCompare(b.reason, 'en'),
  )
}

/** Every reason differs only where a service answers something else each time. */
const maxReasons = 200

export function createOutcomeCounter() {
  const counts: Partial<Record<WritebackStatus, number>> = {}
  const operations: Partial<Record<Operation, number>> = {}
  const groups = new Map<string, ReasonGroup>()
  let settled = 0
  let contradicted = 0
  return {
    add(
      { status, why, isContradicted }: WritebackOutcome,
      { id, operation }: Pick<Writeback, 'id' | 'operation'>,
    ): void {
      settled += 1
      counts[status] = (counts[status] ?? 0) + 1
      operations[operation] = (operations[operation] ?? 0) + 1
      if (isContradicted) contradicted += 1
      if (status === 'succeeded' && !isContradicted) return
      const common = toCommonReason(why)
      const isKnown = groups.has(`${status} ${common}`) || groups.size < maxReasons
      addGroup(groups, {
        status,
        reason: isKnown ? common : 'for other reasons',
        count: 1,
        example: id,
      })
    },
    /** `reasons`: of what did not succeed, or is contradicted; most frequent first. */
    snapshot: () => ({
      settled,
      contradicted,
      counts: { ...counts },
      operations: { ...operations },
      reasons: collectReasons(groups.values()),
    }),
  }
}
