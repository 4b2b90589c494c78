/** Prints figures, one per line, and computes medians. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (
    ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) +
      (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) /
    2
  )
}

export function printFigure(what: string, value: number, unit: string, goal = ''): void {
  const digits = value >= 100 ? 0 : 2
  const figure = value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  process.stdout.write(
    `${what.padEnd(58)}${figure.padStart(12)} ${unit}${goal === '' ? '' : `   (${goal})`}\n`,
  )
}
