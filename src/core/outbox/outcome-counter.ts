/** Counts the outcomes of write-backs that are being sent: by status, by operation, and by reason. Pure. */
import type { ReasonGroup } from './group-reasons.ts'
import { collectReasons, toCommonReason } from './group-reasons.ts'
import type { StatusCounts, WritebackStatus } from './state.ts'
import type { Operation } from './writeback-request.ts'

/** `why`: for a person. */
export type SettledWriteback = {
  readonly id: string
  readonly operation: Operation
  readonly status: WritebackStatus
  readonly why: string
}

export type OutcomeCounts = {
  readonly settled: number
  readonly counts: StatusCounts
  readonly operations: Readonly<Partial<Record<Operation, number>>>
  /** Of what did not succeed; most frequent first. */
  readonly reasons: readonly ReasonGroup[]
}

/** Every reason differs only where a service answers something else each time. */
const maxReasons = 200

export function createOutcomeCounter() {
  const counts: Partial<Record<WritebackStatus, number>> = {}
  const operations: Partial<Record<Operation, number>> = {}
  const groups = new Map<string, ReasonGroup>()
  let settled = 0
  return {
    add({ id, operation, status, why }: SettledWriteback): void {
      settled += 1
      counts[status] = (counts[status] ?? 0) + 1
      operations[operation] = (operations[operation] ?? 0) + 1
      if (status === 'succeeded') return
      const common = toCommonReason(why)
      const isKnown = groups.has(`${status} ${common}`) || groups.size < maxReasons
      const reason = isKnown ? common : 'for other reasons'
      const known = groups.get(`${status} ${reason}`)
      groups.set(`${status} ${reason}`, {
        status,
        reason,
        count: (known?.count ?? 0) + 1,
        example: known?.example ?? id,
      })
    },
    snapshot: (): OutcomeCounts => ({
      settled,
      counts: { ...counts },
      operations: { ...operations },
      reasons: collectReasons(groups.values()),
    }),
  }
}
