/** Random activity of a visitor, and random looks at the agents' availability. */
import type { RandomChoices } from './random-choices.ts'
import { type ActivityRow, type SnapshotRow, toTime } from './raw-rows.ts'

export function randomActivity(
  visitor: string,
  around: number,
  { chance, int, pick }: RandomChoices,
): ActivityRow[] {
  let at = around + int(-90_000, 90_000)
  return Array.from({ length: int(0, 7) }, (_, n) => {
    at += pick([0, 1, 60, 1799, 1800, 1801, 5000, 40_000])
    return {
      visitor_id: visitor,
      // Not in the order of their times.
      entry_hash: `entry-${(n * 7) % 10}`,
      ordinal: 0,
      occurred_at: chance(0.05) ? null : toTime(at),
      deleted_at: chance(0.05) ? '2025-12-01T00:00:00Z' : null,
      page: chance(0.4) ? null : `/page-${n}`,
    }
  })
}

export function randomSnapshots(around: number, random: RandomChoices): SnapshotRow[] {
  const { chance, int, pick } = random
  let at = around + int(-40_000, 40_000)
  return Array.from({ length: int(0, 12) }, () => {
    at += pick([1, 60, 60, 300, 599, 600, 601, 1700, 4000, 50_000])
    const agents = int(0, 4)
    return {
      read_at: toTime(at),
      available: chance(0.05) ? null : agents > 0,
      agents_online: chance(0.05) ? null : agents,
    }
  })
}
