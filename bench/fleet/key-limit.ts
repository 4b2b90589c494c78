/** What a key lets through: a few requests at once, the rest evenly, and no more than its slots in any window. */
import { burstSlots } from '../../src/core/rate-limit/capacity.ts'
import type { Rate } from '../../src/core/rate-limit/rate.ts'
import type { EpochMs } from '../../src/core/time.ts'

/** Of the documented limit, as the budget does. */
const usedShare = 0.95

type UsedSlots = { readonly freeAt: EpochMs; readonly count: number }

/** `take`: when so many requests have been let through that were asked for at `now`. Calls come in the order of time. */
export type KeyLimit = { readonly take: (now: EpochMs, count: number) => EpochMs }

export function createKeyLimit({ requests, windowMs }: Rate): KeyLimit {
  const slots = Math.floor(requests * usedShare)
  let used: UsedSlots[] = []
  let pacedAt = 0
  return {
    take: (now, count) => {
      used = used.filter(({ freeAt }) => freeAt > now)
      const total = used.reduce((sum, lease) => sum + lease.count, 0)
      const paced = total + count <= burstSlots(slots) ? now : Math.max(now, pacedAt + (count * windowMs) / slots)
      const at = Math.max(paced, whenFree(used, total + count - slots))
      used.push({ freeAt: at + windowMs, count })
      pacedAt = at
      return at
    },
  }
}

/** When so many of the slots, oldest first, have come back. */
function whenFree(taken: readonly UsedSlots[], needed: number): EpochMs {
  let left = needed
  for (const { freeAt, count } of taken) {
    if (left <= 0) break
    left -= count
    if (left <= 0) return freeAt
  }
  return 0
}
