/** What changed against the period before: absolute, per cent, and a word where there is nothing to compare. */

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
