/** Grouping and statistics of the reports, in the most obvious way. */

/** In the order in which the keys first appear. */
export function groupBy<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}

export const countWhere = <T>(rows: readonly T[], isCounted: (row: T) => boolean): number =>
  rows.filter(isCounted).length

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

export const mean = (values: readonly number[]): number => sum(values) / values.length

/** The middle value, or the mean of the two middle ones; null without values. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  if (upper === undefined) return null
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/**
 * The smallest value that at least nine tenths of all values do not exceed; null without values.
 */
export function p90(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return (
    sorted.find(
      (value) => 10 * countWhere(sorted, (other) => other <= value) >= 9 * sorted.length,
    ) ?? null
  )
}

/** Null instead of a division by zero. */
export const share = (part: number, whole: number): number | null =>
  whole === 0 ? null : part / whole
