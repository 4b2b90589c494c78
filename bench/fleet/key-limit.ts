/**
 * What a key allows: a short burst, the rest evenly paced, and no more than its slots in any
 * window.
 */
import { burstSlots } from '../../src/service/core/slots.ts'
import type { EpochMs, Rate } from '../../src/values/time.ts'

/** The share of the limit that a budget uses: the default margin is left. */
const usedShare = 0.98

type UsedSlots = { readonly freeAt: EpochMs; readonly count: number }

/**
 * `take`: returns when `count` requests are allowed that were requested at `now`. Calls come in
 * order of time.
 */
export type KeyLimit = { readonly take: (now: EpochMs, count: number) => EpochMs }

export function createKeyLimit({ requests, windowMs }: Rate): KeyLimit {
  const slots = Math.floor(requests * usedShare)
  let used: UsedSlots[] = []
  let pacedAt = 0
  return {
    take: (now, count) => {
      used = used.filter(({ freeAt }) => freeAt > now)
      const total = used.reduce((sum, entry) => sum + entry.count, 0)
      const paced =
        total + count <= burstSlots(slots)
          ? now
          : Math.max(now, pacedAt + (count * windowMs) / slots)
      const at = Math.max(paced, whenFree(used, total + count - slots))
      used.push({ freeAt: at + windowMs, count })
      pacedAt = at
      return at
    },
  }
}

/** When `needed` slots, oldest first, are free again. */
function whenFree(taken: readonly UsedSlots[], needed: number): EpochMs {
  let left = needed
  for (const { freeAt, count } of taken) {
    if (left <= 0) break
    left -= count
    if (left <= 0) return freeAt
  }
  return 0
}
