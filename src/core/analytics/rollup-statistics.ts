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
export type DurationStatistic = (typeof durationStatistics)[number]

export const hourStatistics = ['most frequent', 'second most frequent', 'third most frequent'] as const

export function mapStatistics<T>(compute: (statistic: DurationStatistic) => T): Record<DurationStatistic, T> {
  return Object.fromEntries(durationStatistics.map((name) => [name, compute(name)])) as Record<DurationStatistic, T>
}

/** Null: there is nothing to take it of. */
export function durationStatistic(sorted: Float64Array, statistic: DurationStatistic): number | null {
  switch (statistic) {
    case 'mean':
      return sorted.length === 0 ? null : sorted.reduce((sum, value) => sum + value, 0) / sorted.length
    case 'median':
      return interpolated(sorted, 0.5)
    case 'lower median':
      return smallestCovering(sorted, 0.5)
    case '90th percentile':
      return smallestCovering(sorted, 0.9)
    case 'interpolated 90th percentile':
      return interpolated(sorted, 0.9)
    case '95th percentile':
      return smallestCovering(sorted, 0.95)
    case 'maximum':
      return sorted.at(-1) ?? null
  }
}

/** The smallest value that at least this share of all values does not exceed. */
function smallestCovering(sorted: Float64Array, share: number): number | null {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? null
}

function interpolated(sorted: Float64Array, share: number): number | null {
  const position = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return below === undefined || above === undefined ? null : below + (position - Math.floor(position)) * (above - below)
}
