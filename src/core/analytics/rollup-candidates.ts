/** Every definition that a number of the rollups may have, from the rows of the mirror. */
import { createActiveConversations } from './rollup-active-conversations.ts'
import type { RollupDays } from './rollup-days.ts'
import { type Candidate, candidatesOf } from './rollup-definitions.ts'
import { eventsOf, type RollupRows } from './rollup-events.ts'
import type { RollupMeasure } from './rollup-measures.ts'

export function createCandidates(rows: RollupRows, days: RollupDays): (measure: RollupMeasure) => Candidate[] {
  const activeConversations = createActiveConversations(rows, days)
  return (measure) =>
    measure.population === 'active conversations'
      ? activeConversations(measure)
      : candidatesOf(measure, eventsOf(measure, rows), days)
}
