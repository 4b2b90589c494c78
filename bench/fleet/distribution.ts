/** Distributions of work, waits and lags, compact enough for millions of jobs. */
import type { Ms } from '../../src/values/time.ts'

/** `quantile(0.5)`: the median, in milliseconds; 0 if empty. */
export type Distribution = {
  readonly add: (ms: Ms) => void
  readonly quantile: (share: number) => Ms
  readonly max: () => Ms
  readonly count: () => number
}

export function createDistribution(): Distribution {
  let values = new Float64Array(1024)
  let count = 0
  let sorted = 0
  const inOrder = () => {
    if (sorted !== count) values.subarray(0, count).sort()
    sorted = count
    return values
  }
  return {
    add: (ms) => {
      if (count === values.length) {
        const more = new Float64Array(2 * count)
        more.set(values)
        values = more
      }
      values[count++] = ms
      sorted = -1
    },
    quantile: (share) => inOrder()[Math.min(count - 1, Math.floor(share * count))] ?? 0,
    max: () => inOrder()[count - 1] ?? 0,
    count: () => count,
  }
}
