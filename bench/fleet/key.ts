/** What a key lets through: a few requests at once, the rest evenly, and no more than its slots in any window. */
import { burst } from '../../src/core/budget/pool.ts'
import type { Rate } from '../../src/core/budget/rate.ts'
import type { EpochMs } from '../../src/core/time.ts'

/** Of the documented limit, as the budget does. */
const share = 0.95

type Taken = { readonly freeAt: EpochMs; readonly count: number }

/** `take`: when so many requests have been let through that were asked for at `now`. Calls come in the order of time. */
export type Key = { readonly take: (now: EpochMs, count: number) => EpochMs }

export function createKey({ requests, windowMs }: Rate): Key {
  const slots = Math.floor(requests * share)
  let taken: Taken[] = []
  let pacedAt = 0
  return {
    take: (now, count) => {
      taken = taken.filter(({ freeAt }) => freeAt > now)
      const total = taken.reduce((sum, lease) => sum + lease.count, 0)
      const paced = total + count <= burst(slots) ? now : Math.max(now, pacedAt + (count * windowMs) / slots)
      const at = Math.max(paced, whenFree(taken, total + count - slots))
      taken.push({ freeAt: at + windowMs, count })
      pacedAt = at
      return at
    },
  }
}

/** When so many of the slots, oldest first, have come back. */
function whenFree(taken: readonly Taken[], needed: number): EpochMs {
  let left = needed
  for (const { freeAt, count } of taken) {
    if (left <= 0) break
    left -= count
    if (left <= 0) return freeAt
  }
  return 0
}
