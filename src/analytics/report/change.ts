/** What changed against the period before: absolute, per cent, and a word where there is nothing to compare. */

import { number, type Table, text } from '../../document/page.ts'
import { formatCount, formatDuration } from '../../values/format.ts'
import type { Seconds } from '../../values/time.ts'

/**
 * `from none`: there was nothing before, so there is no per cent. `nothing now`, `nothing before`: a median or a share of
 * nothing. `nothing to compare`: neither has a value, or the mirror does not reach back to the period before.
 */
export type Comparison =
  | 'up'
  | 'down'
  | 'unchanged'
  | 'from none'
  | 'nothing now'
  | 'nothing before'
  | 'nothing to compare'

export type Change = {
  readonly value: number | null
  readonly before: number | null
  /** `value` less `before`; null = one of them has no value. */
  readonly change: number | null
  /** `change` in per cent of `before`; null also if `before` is 0. */
  readonly changePercent: number | null
  readonly comparison: Comparison
}

export function changeOf(value: number | null, before: number | null): Change {
  if (value === null || before === null)
    return { value, before, change: null, changePercent: null, comparison: missing(value, before) }
  const change = value - before
  const changePercent = before === 0 ? null : (100 * change) / Math.abs(before)
  return {
    value,
    before,
    change,
    changePercent: change === 0 ? 0 : changePercent,
    comparison: direction(change, before),
  }
}

function missing(value: number | null, before: number | null): Comparison {
  if (value !== null) return 'nothing before'
  return before === null ? 'nothing to compare' : 'nothing now'
}

function direction(change: number, before: number): Comparison {
  if (change === 0) return 'unchanged'
  if (before === 0) return 'from none'
  return change > 0 ? 'up' : 'down'
}

/** Numbers of a report as text for people. */
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

/** Tables of numbers, each beside that of the period before. */
export type ChangeLine = readonly [label: string, change: Change, unit: Unit]

export function changeTable(caption: string, lines: readonly ChangeLine[]): Table {
  return {
    caption,
    columns: [text(''), number('Period'), number('Before'), number('Change')],
    rows: lines.map(([label, change, unit]) => [
      label,
      formatValue(change.value, unit),
      formatValue(change.before, unit),
      formatChange(change, unit),
    ]),
  }
}
