/** Numbers of a report as text for people. */
import { formatCount, formatDuration } from '../core/format.ts'
import type { Seconds } from '../core/time.ts'
import type { Change } from './change.ts'

export type Unit = 'count' | 'seconds' | 'share'

const formats: Readonly<Record<Unit, (value: number) => string>> = {
  count: formatCount,
  seconds: formatSeconds,
  share: (value) => `${formatCount(100 * value)} %`,
}

/** `–` for null. */
export function formatValue(value: number | null, unit: Unit): string {
  return value === null ? '–' : formats[unit](value)
}

/** `+3 (+25 %)`, `−10 s (−8.3 %)`, `+4 points` for shares, or why there is nothing to compare. */
export function formatChange({ change, changePercent, comparison }: Change, unit: Unit): string {
  if (change === null || change === 0) return comparison
  const sign = change > 0 ? '+' : '−'
  if (unit === 'share') return `${sign}${formatCount(Math.abs(100 * change))} points`
  const percent = changePercent === null ? 'none before' : `${sign}${formatCount(Math.abs(changePercent))} %`
  return `${sign}${formats[unit](Math.abs(change))} (${percent})`
}

function formatSeconds(seconds: Seconds): string {
  return seconds < 60 ? `${formatCount(seconds)} s` : formatDuration(seconds * 1000)
}
