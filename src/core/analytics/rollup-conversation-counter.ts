/**
 * Counts conversations for all measures at once, one conversation after the other. It keeps numbers of days only, however
 * many conversations and messages there are.
 */
import type { EpochSeconds } from '../time.ts'
import {
  type ConversationDays,
  columns,
  createConversationDays,
  type Handling,
  type ShownDays,
} from './rollup-conversation-days.ts'
import { type RollupConversation, type Span, spansOfFilter } from './rollup-conversation-filter.ts'
import { addByHour } from './rollup-day-values.ts'
import type { RollupDays } from './rollup-days.ts'
import { type Candidate, countCandidates, hourCandidates } from './rollup-definitions.ts'
import { createHourOf } from './rollup-events.ts'
import type { ActiveConversations, ConversationFilter, ConversationMeasure, HourMeasure } from './rollup-measures.ts'

export type CountedMeasure =
  | ConversationMeasure
  | ActiveConversations
  | (HourMeasure & { readonly with: 'conversations created' })

export type ConversationCounter = Pick<ConversationDays, 'addMessages'> & {
  /** The conversation of the messages that were added since the last one. */
  readonly addConversation: (row: RollupConversation, handlings: readonly Handling[]) => void
  readonly candidatesOf: (measure: CountedMeasure) => Candidate[]
}

export function createConversationCounter(measures: readonly CountedMeasure[], days: RollupDays): ConversationCounter {
  const { addMessages, takeDays } = createConversationDays(days)
  const size = days.days.length
  const byFilter = new Map<string, { readonly filter: ConversationFilter; readonly counts: Float64Array }>()
  const byZone = new Map<string, { readonly hourOf: (at: EpochSeconds) => number; readonly counts: Float64Array }>()
  for (const measure of measures) {
    if (measure.population === 'hours')
      byZone.set(measure.zone, { hourOf: createHourOf(measure.zone), counts: new Float64Array(24 * size) })
    else
      byFilter.set(keyOf(measure.filter), {
        filter: measure.filter,
        counts: new Float64Array(columns.size * size),
      })
  }
  return {
    addMessages,
    addConversation: (row, handlings) => {
      const shown = takeDays(row, handlings)
      for (const { filter, counts } of byFilter.values()) addShown(counts, shown, spansOfFilter(filter, row), days)
      const { createdAt, deletedAt } = row
      if (createdAt === null || deletedAt !== null) return
      for (const { hourOf, counts } of byZone.values())
        addByHour(counts, [{ at: createdAt, value: hourOf(createdAt) }], days)
    },
    candidatesOf: (measure) => {
      if (measure.population === 'hours')
        return hourCandidates(measure, byZone.get(measure.zone)?.counts ?? new Float64Array(), days)
      const { counts } = byFilter.get(keyOf(measure.filter)) ?? { counts: new Float64Array() }
      const column = columns.get(measure.population === 'conversations' ? measure.by : measure.with) ?? 0
      return countCandidates(measure, counts.subarray(column * size, (column + 1) * size), days)
    },
  }
}

function keyOf(filter: ConversationFilter): string {
  return JSON.stringify(filter)
}

/** `counts`: by column and day. */
function addShown(counts: Float64Array, shown: ShownDays, spans: readonly Span[], { days }: RollupDays): void {
  const isAlways = spans.some(({ since, until }) => since === undefined && until === undefined)
  if (spans.length === 0) return
  for (let n = 0; n < shown.days.length; n++) {
    const day = shown.days[n] ?? 0
    const index = (shown.columns[n] ?? 0) * days.length + day
    if (isAlways || isWithin(spans, days[day]?.readAt ?? 0)) counts[index] = (counts[index] ?? 0) + 1
  }
}

function isWithin(spans: readonly Span[], readAt: EpochSeconds): boolean {
  for (const { since = readAt, until = Number.POSITIVE_INFINITY } of spans)
    if (since <= readAt && readAt < until) return true
  return false
}
