/**
 * What changed against the period before: absolute, per cent, or a word where nothing is compared.
 */

import { columns, type Table } from '../../document/page.ts'
import { formatCount, formatSeconds } from '../../values/format.ts'

export type Change = {
  readonly value: number | null
  readonly before: number | null
  /** `value` less `before`; null = one of them has no value. */
  readonly change: number | null
  /** `change` in per cent of `before`; null also if `before` is 0. */
  readonly changePercent: number | null
  /**
   * `from none`: nothing before, so no per cent. `nothing now`, `nothing before`: a median or a
   * share of nothing. `nothing to compare`: neither has a value, or the mirror does not reach back
   * so far. `before not whole`: growth would be the mirror's.
   */
  readonly comparison:
    | 'up'
    | 'down'
    | 'unchanged'
    | 'from none'
    | 'nothing now'
    | 'nothing before'
    | 'nothing to compare'
    | 'before not whole'
}

export function changeOf(
  value: number | null,
  before: number | null,
  isBeforeWhole = true,
): Change {
  if (value === null || before === null) {
    const missing = value === null ? 'nothing now' : 'nothing before'
    const comparison = value === before ? 'nothing to compare' : missing
    return { value, before, change: null, changePercent: null, comparison }
  }
  if (!isBeforeWhole)
    return { value, before, change: null, changePercent: null, comparison: 'before not whole' }
  const change = value - before
  if (change === 0) return { value, before, change, changePercent: 0, comparison: 'unchanged' }
  if (before === 0) return { value, before, change, changePercent: null, comparison: 'from none' }
  const changePercent = (100 * change) / Math.abs(before)
  return { value, before, change, changePercent, comparison: change > 0 ? 'up' : 'down' }
}

/** Numbers of a report as text for people. */
const formats = {
  count: formatCount,
  seconds: formatSeconds,
  share: (value: number) => `${formatCount(100 * value)} %`,
}
export type Unit = keyof typeof formats

/** `–` for null. */
export function formatValue(value: number | null, unit: Unit): string {
  return value === null ? '–' : formats[unit](value)
}

/** `+3 (+25 %)`, `−10 s (−8.3 %)`, `+4 points` for shares, or why there is nothing to compare. */
export function formatChange({ change, changePercent, comparison }: Change, unit: Unit): string {
  if (comparison === 'before not whole') return 'not compared: days are incomplete'
  if (change === null || change === 0) return comparison
  const sign = change > 0 ? '+' : '−'
  const points = formatCount(Math.abs(100 * change))
  if (unit === 'share') return points === '0' ? 'hardly changed' : `${sign}${points} points`
  const percent =
    changePercent === null ? 'none before' : `${sign}${formatCount(Math.abs(changePercent))} %`
  return `${sign}${formats[unit](Math.abs(change))} (${percent})`
}

/** Texts of a value, of that before, and of the change. */
export function changeCells(change: Change, unit: Unit): string[] {
  return [
    formatValue(change.value, unit),
    formatValue(change.before, unit),
    formatChange(change, unit),
  ]
}

/** Tables of numbers, each beside that of the period before. */
export type ChangeLine = readonly [label: string, change: Change, unit: Unit]

export function changeTable(caption: string, lines: readonly ChangeLine[]): Table {
  return {
    caption,
    columns: columns([''], ['Period', 'Before', 'Change']),
    rows: lines.map(([label, change, unit]) => [label, ...changeCells(change, unit)]),
  }
}
