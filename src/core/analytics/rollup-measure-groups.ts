/** Measures by how the rows that they count are read. */
import type { CountedMeasure } from './rollup-conversation-counter.ts'
import type { GroupedMeasure } from './rollup-events.ts'
import type { ActiveVisitors, AnswerMeasure, RollupMeasure } from './rollup-measures.ts'

export type MeasureGroups = {
  /** Their rows are counted by the database. */
  readonly grouped: readonly GroupedMeasure[]
  /** Their rows are read conversation by conversation. */
  readonly conversations: readonly CountedMeasure[]
  /** All rows of a day must be known at once, so they are read some days at a time. */
  readonly answers: readonly AnswerMeasure[]
  readonly visitors: readonly ActiveVisitors[]
}

export function groupMeasures(measures: readonly RollupMeasure[]): MeasureGroups {
  const groups = {
    grouped: [] as GroupedMeasure[],
    conversations: [] as CountedMeasure[],
    answers: [] as AnswerMeasure[],
    visitors: [] as ActiveVisitors[],
  }
  for (const measure of measures)
    switch (measure.population) {
      case 'conversations':
      case 'active conversations':
        groups.conversations.push(measure)
        break
      case 'hours':
        if (measure.with === 'conversations created') groups.conversations.push({ ...measure, with: measure.with })
        else groups.grouped.push({ ...measure, with: measure.with })
        break
      case 'answers':
        groups.answers.push(measure)
        break
      case 'active visitors':
        groups.visitors.push(measure)
        break
      default:
        groups.grouped.push(measure)
    }
  return groups
}
