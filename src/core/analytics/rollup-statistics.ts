/** How the values of a day become one number of a rollup. */

export const durationStatistics = [
  'median',
  'lower median',
  'mean',
  '90th percentile',
  'interpolated 90th percentile',
  '95th percentile',
  'maximum',
] as const
export const hourStatistics = ['most frequent', 'second most frequent', 'third most frequent'] as const

export type Statistic =
  | 'count'
  | 'count of different ones'
  | (typeof durationStatistics)[number]
  | (typeof hourStatistics)[number]

/** Null: there is nothing to take it of. */
export function computeStatistic(values: readonly (number | string)[], statistic: Statistic): number | null {
  const sorted = () => values.map(Number).sort((a, b) => a - b)
  switch (statistic) {
    case 'count':
      return values.length
    case 'count of different ones':
      return new Set(values).size
    case 'mean':
      return values.length === 0 ? null : values.map(Number).reduce((sum, value) => sum + value, 0) / values.length
    case 'median':
      return interpolated(sorted(), 0.5)
    case 'lower median':
      return smallestCovering(sorted(), 0.5)
    case '90th percentile':
      return smallestCovering(sorted(), 0.9)
    case 'interpolated 90th percentile':
      return interpolated(sorted(), 0.9)
    case '95th percentile':
      return smallestCovering(sorted(), 0.95)
    case 'maximum':
      return sorted().at(-1) ?? null
    default:
      return byFrequency(sorted())[hourStatistics.indexOf(statistic)] ?? null
  }
}

/** The smallest value that at least this share of all values does not exceed. */
function smallestCovering(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null
}

function interpolated(sorted: readonly number[], share: number): number | null {
  const position = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return below === undefined || above === undefined ? null : below + (position - Math.floor(position)) * (above - below)
}

/** The most frequent first; of two that are equally frequent, the lower one. */
function byFrequency(sorted: readonly number[]): number[] {
  const counts = new Map<number, number>()
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value)
}
