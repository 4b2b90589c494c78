/** Whether a difference is an error of the mirror, or a change that a sync brings in time. Pure. */
import type { SeenDifference } from './audit-store.ts'

/**
 * Differences that were there before a sync and are there after it, while the mirror still stores the same row: the sync
 * read the service later than the first comparison did, and did not bring what that one saw. All others are changes of the
 * service that came after the last sync, or between the two comparisons.
 */
export function confirmedDifferences(
  before: readonly SeenDifference[],
  after: readonly SeenDifference[],
): readonly SeenDifference[] {
  const earlier = new Set(before.map(identityOf))
  return after.filter((difference) => earlier.has(identityOf(difference)))
}

function identityOf({ stream, key, storedHash }: SeenDifference): string {
  return JSON.stringify([stream, key, storedHash])
}
