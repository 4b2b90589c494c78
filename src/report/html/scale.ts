/** Scales of charts: from values to coordinates, with round numbers at the axis. */

/** The drawing area in units of the SVG; the page decides how large it is shown. */
export const plot = { left: 44, right: 708, top: 12, bottom: 172 } as const
export const chartSize = { width: 720, height: 200 } as const

export type Scale = { readonly ticks: readonly number[]; readonly y: (value: number) => number }

const wantedTicks = 4

/** From 0 to the smallest round number that no value exceeds. Counts have no fractions, so a step is at least 1. */
export function countScale(values: readonly number[]): Scale {
  const most = Math.max(1, ...values)
  const step = roundStep(most / wantedTicks)
  const top = Math.ceil(most / step) * step
  return {
    ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step),
    y: (value) => round(plot.bottom - (value / top) * (plot.bottom - plot.top)),
  }
}

/** 1, 2, 5, 10, 20, … */
function roundStep(step: number): number {
  const magnitude = 10 ** Math.max(0, Math.floor(Math.log10(step)))
  return magnitude * ([1, 2, 5].find((factor) => factor * magnitude >= step) ?? 10)
}

/** Where each of some values in a row begins, and how wide it is. */
export function columnsOf(count: number): { readonly width: number; readonly x: (index: number) => number } {
  const width = (plot.right - plot.left) / Math.max(1, count)
  return { width: round(width), x: (index) => round(plot.left + index * width) }
}

/** Every label if there is room for it, else every n-th. */
export function labelStep(count: number): number {
  const maxLabels = 9
  return Math.max(1, Math.ceil(count / maxLabels))
}

export function round(value: number): number {
  return Math.round(value * 10) / 10
}
