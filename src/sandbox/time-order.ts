/** Row indexes in order of one of their times, in flat arrays: a million rows take 12 MB, an insert under a millisecond. */
import type { EpochMs } from '../core/time.ts'

export type TimeOrder = ReturnType<typeof createTimeOrder>

/** Orders the given rows; rows with equal times keep the order of their indexes. */
export function createTimeOrder(indexes: Iterable<number>, count: number, timeOf: (index: number) => EpochMs) {
  let rows = Uint32Array.from(indexes)
  const laterTimes = new Map<number, EpochMs>()
  const knownTimes = new Float64Array(count)
  for (const index of rows) {
    if (index < count) knownTimes[index] = timeOf(index)
    else laterTimes.set(index, timeOf(index))
  }
  const time = (index: number) => (index < count ? (knownTimes[index] ?? 0) : (laterTimes.get(index) ?? 0))
  if (!isSorted(rows, time)) rows.sort((a, b) => time(a) - time(b) || a - b)
  let times = Float64Array.from(rows, time)
  let size = rows.length

  const positionOf = (at: EpochMs, index: number) =>
    findFirstPosition(size, (p) => {
      const found = times[p] ?? 0
      return found > at || (found === at && (rows[p] ?? 0) >= index)
    })
  const grow = () => {
    const capacity = Math.max(16, Math.ceil(size * 1.1))
    const [moreRows, moreTimes] = [new Uint32Array(capacity), new Float64Array(capacity)]
    moreRows.set(rows)
    moreTimes.set(times)
    rows = moreRows
    times = moreTimes
  }
  return {
    size: () => size,
    timeAt: (p: number): EpochMs => times[p] ?? 0,
    indexAt: (p: number) => rows[p] ?? 0,
    insert(at: EpochMs, index: number) {
      if (size === rows.length) grow()
      const p = positionOf(at, index)
      rows.copyWithin(p + 1, p, size)
      times.copyWithin(p + 1, p, size)
      rows[p] = index
      times[p] = at
      size += 1
    },
    remove(at: EpochMs, index: number) {
      const p = positionOf(at, index)
      if (rows[p] !== index) throw new Error(`row ${index} is not at the position of its time`)
      rows.copyWithin(p, p + 1, size)
      times.copyWithin(p, p + 1, size)
      size -= 1
    },
  }
}

/** The first position below `size` for which `isMatch` is true; it must be true for all later ones. `size` if there is none. */
export function findFirstPosition(size: number, isMatch: (position: number) => boolean): number {
  let [low, high] = [0, size]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isMatch(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function isSorted(rows: Uint32Array, time: (index: number) => EpochMs): boolean {
  let before = Number.NEGATIVE_INFINITY
  for (const index of rows) {
    const now = time(index)
    if (now < before) return false
    before = now
  }
  return true
}
