/** How long the rest of a batch takes, and until when it rests. Pure. */
import type { SlotLimits } from '../../service/core/budget.ts'
import { estimateSendsMs } from '../../service/core/estimate.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { Operation } from './writeback-request.ts'

/** Reads of the precondition, and of what is stored afterwards. Measured against the sandbox, without verifications. */
const readsPerSend: Readonly<Record<Operation, number>> = { message: 3, handled: 3, visitor: 2, note: 0 }

export type OperationCounts = Readonly<Partial<Record<Operation, number>>>

/** `ahead`: write-backs of unknown operations that are sent before. */
export function estimateBatchMs(limits: SlotLimits, left: OperationCounts, ahead: number): Ms {
  const entries = Object.entries(left) as [Operation, number][]
  const writes = entries.reduce((sum, [, count]) => sum + count, 0)
  const reads = entries.reduce((sum, [operation, count]) => sum + count * readsPerSend[operation], 0)
  const readsEach = writes === 0 ? readsPerSend.message : reads / writes
  return estimateSendsMs(limits, writes + ahead, reads + Math.ceil(ahead * readsEach))
}

export type Rest = { readonly until: EpochMs; readonly because: string }

/** The longest of the rests that have not ended. */
export function longestRest(rests: readonly (Rest | null)[], now: EpochMs): Rest | null {
  const open = rests.filter((rest) => rest !== null && rest.until > now)
  return open.reduce<Rest | null>(
    (longest, rest) => (longest === null || (rest?.until ?? 0) > longest.until ? rest : longest),
    null,
  )
}
