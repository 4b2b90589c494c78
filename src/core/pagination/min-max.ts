/** The least and the greatest of many numbers: spread into `Math.max`, a hundred thousand of them overflow the stack. */

export function minOf(values: Iterable<number>): number | undefined {
  let found: number | undefined
  for (const value of values) if (found === undefined || value < found) found = value
  return found
}

export function maxOf(values: Iterable<number>): number | undefined {
  let found: number | undefined
  for (const value of values) if (found === undefined || value > found) found = value
  return found
}
