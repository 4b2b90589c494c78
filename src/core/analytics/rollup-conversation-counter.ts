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
  const byZone = new Map<string, { readonly hourOf: (at: EpochSeconds) => number; readonly counts: Float64Array }>()
  for (const { zone } of measures.filter((measure) => measure.population === 'hours'))
    byZone.set(zone, { hourOf: createHourOf(zone), counts: new Float64Array(24 * days.days.length) })
  const counts = createCounts(
    measures.filter((measure) => measure.population !== 'hours'),
    days,
  )
  return {
    addMessages,
    addConversation: (row, handlings) => {
      counts.add(row, takeDays(row, handlings))
      const { createdAt, deletedAt } = row
      if (createdAt === null || deletedAt !== null) return
      for (const zone of byZone.values())
        addByHour(zone.counts, [{ at: createdAt, value: zone.hourOf(createdAt) }], days)
    },
    candidatesOf: (measure) =>
      measure.population === 'hours'
        ? hourCandidates(measure, byZone.get(measure.zone)?.counts ?? new Float64Array(), days)
        : countCandidates(measure, counts.of(measure), days),
  }
}

type FilterMeasure = ConversationMeasure | ActiveConversations

/** By column: where its days begin in the counts; -1 = no measure needs it. */
type Starts = Int32Array

/**
 * The counts that the measures need, by filter, column and day. One array for all million of them: the C library would keep
 * the memory of a thousand small ones that have been freed.
 */
function createCounts(measures: readonly FilterMeasure[], days: RollupDays) {
  const size = days.days.length
  const byFilter = new Map<string, { readonly filter: ConversationFilter; readonly starts: Starts }>()
  let length = 0
  for (const { filter, ...measure } of measures) {
    const { starts } = byFilter.get(keyOf(filter)) ?? { starts: new Int32Array(columns.size).fill(-1) }
    byFilter.set(keyOf(filter), { filter, starts })
    if (starts[columnOf(measure)] !== -1) continue
    starts[columnOf(measure)] = length
    length += size
  }
  const counts = new Uint32Array(length)
  return {
    add: (row: RollupConversation, shown: ShownDays) => {
      for (const { filter, starts } of byFilter.values())
        addShown(counts, starts, shown, spansOfFilter(filter, row), days)
    },
    of: ({ filter, ...measure }: FilterMeasure) => {
      const start = byFilter.get(keyOf(filter))?.starts[columnOf(measure)] ?? 0
      return counts.subarray(start, start + size)
    },
  }
}

function columnOf(
  measure: Pick<ConversationMeasure, 'population' | 'by'> | Pick<ActiveConversations, 'population' | 'with'>,
): number {
  return columns.get(measure.population === 'conversations' ? measure.by : measure.with) ?? 0
}

function keyOf(filter: ConversationFilter): string {
  return JSON.stringify(filter)
}

function addShown(
  counts: Uint32Array,
  starts: Starts,
  shown: ShownDays,
  spans: readonly Span[],
  { days }: RollupDays,
): void {
  const isAlways = spans.some(({ since, until }) => since === undefined && until === undefined)
  if (spans.length === 0) return
  for (let n = 0; n < shown.days.length; n++) {
    const day = shown.days[n] ?? 0
    const start = starts[shown.columns[n] ?? 0] ?? -1
    if (start === -1 || !(isAlways || isWithin(spans, days[day]?.readAt ?? 0))) continue
    counts[start + day] = (counts[start + day] ?? 0) + 1
  }
}

function isWithin(spans: readonly Span[], readAt: EpochSeconds): boolean {
  for (const { since = readAt, until = Number.POSITIVE_INFINITY } of spans)
    if (since <= readAt && readAt < until) return true
  return false
}
