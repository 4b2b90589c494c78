/** What a measure counts, as events of rows that the database has counted. */
import type { EpochSeconds } from '../time.ts'
import type { Role } from './conversation-history.ts'
import type { MeasureEvent } from './rollup-day-values.ts'
import type { CountMeasure, HourMeasure } from './rollup-measures.ts'
import { createTimeZone } from './time-zone.ts'

type Timed = { readonly at: EpochSeconds }
type Counted = Timed & { readonly count: number }

/** Numbers of rows that no definition tells apart, of all days: as many however large the mirror is. */
export type RollupCounts = {
  readonly messages: readonly (Counted & { readonly senderType: string | null; readonly role: Role })[]
  /** `by`: the column with the time. */
  readonly visitors: readonly (Counted & { readonly by: string })[]
  readonly calls: readonly (Counted & {
    readonly by: string
    readonly status: string | null
    readonly hasRecording: boolean
  })[]
}

/** Measures of which many rows are one event. */
export type GroupedMeasure =
  | Extract<CountMeasure, { population: 'messages' | 'visitors' | 'calls' | 'calls with a recording' }>
  | (HourMeasure & { readonly with: 'messages' | 'visitor messages' })

export function* eventsOf(measure: GroupedMeasure, rows: RollupCounts): Generator<MeasureEvent> {
  switch (measure.population) {
    case 'messages':
      for (const { at, count, senderType, role } of rows.messages) {
        const { filter } = measure
        const isCounted =
          filter.rows === 'of the sender type'
            ? senderType === filter.senderType
            : filter.rows === 'all' || (role === 'event') === (filter.rows === 'events')
        if (isCounted) yield { at, value: '', count }
      }
      return
    case 'visitors':
      for (const { at, by, count } of rows.visitors) if (by === measure.by) yield { at, value: '', count }
      return
    case 'calls':
      for (const { at, by, status, count } of rows.calls)
        if (by === measure.by && (measure.status === null || status === measure.status)) yield { at, value: '', count }
      return
    case 'calls with a recording':
      for (const { at, by, hasRecording, count } of rows.calls)
        if (by === measure.by && hasRecording) yield { at, value: '', count }
      return
    case 'hours': {
      const hourOf = createHourOf(measure.zone)
      for (const { at, count, role } of rows.messages)
        if (measure.with === 'messages' || role === 'visitor') yield { at, value: hourOf(at), count }
    }
  }
}

/** The hour of the zone's clock, 0 to 23. */
export function createHourOf(name: string): (at: EpochSeconds) => number {
  const zone = createTimeZone(name)
  return (at) => Math.floor(((at + zone.offsetSpanAt(at).offset) % 86_400) / 3600)
}
