/** Which rows a switch affects: a pseudo-random share of the rows of some kinds. */

import { type Purpose, toUnitInterval } from './seed/random.ts'
import type { SeedData } from './seed/seed-data.ts'
import { parseNames } from './switches.ts'

export const rowKinds = ['conversations', 'visitors', 'calls', 'messages', 'activity'] as const
export type RowKind = (typeof rowKinds)[number]

/** Parses a comma-separated list of row kinds. Throws RangeError for others. */
export function parseRowKinds(list: string): readonly RowKind[] {
  return parseNames(list, rowKinds, (name) => `there are no rows ${name}; there are ${rowKinds.join(', ')}`)
}

export function createRowSample({ random }: SeedData, purpose: Purpose, share: number, kinds: string) {
  const affected = parseRowKinds(kinds)
  const affects = (kind: RowKind) => share > 0 && affected.includes(kind)
  return {
    /** Whether rows of the kind can be in it. */
    affects,
    /** `a` and `b` identify the row within its kind. */
    has: (kind: RowKind, a: number, b = 0) =>
      affects(kind) && toUnitInterval(random(purpose, a, rowKinds.indexOf(kind) + 8 * b)) < share,
  }
}
