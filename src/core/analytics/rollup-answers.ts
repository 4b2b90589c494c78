/** How long visitors waited for answers, as numbers of the rollups may count it. */
import type { EpochSeconds, Seconds } from '../time.ts'
import { type Durations, sortedDurations } from './rollup-day-values.ts'
import type { PartOfDays, RollupDays } from './rollup-days.ts'
import { type Candidate, durationCandidates } from './rollup-definitions.ts'
import type { AnswerMeasure } from './rollup-measures.ts'
import { type DurationStatistic, durationStatistic, durationStatistics, mapStatistics } from './rollup-statistics.ts'

/** Waits that an answer ended, by column: an object for each would take ten times the memory. */
export type RollupAnswers = {
  /** The first wait of its conversation. */
  readonly isFirst: readonly unknown[]
  readonly askedAt: readonly EpochSeconds[]
  readonly answeredAt: readonly EpochSeconds[]
  readonly seconds: readonly Seconds[]
  readonly businessSeconds: readonly Seconds[]
  /** Of first ones, since the conversation was created; null = unknown when. */
  readonly secondsFromCreation: readonly (Seconds | null)[]
  readonly businessSecondsFromCreation: readonly (Seconds | null)[]
}

export type AnswerStatistics = {
  readonly add: (part: PartOfDays, measure: AnswerMeasure, answers: RollupAnswers) => void
  readonly candidatesOf: (measure: AnswerMeasure) => Candidate[]
}

/** Of all days, which are added in parts. `answers`: those of the measure's clock. */
export function createAnswerStatistics(days: RollupDays): AnswerStatistics {
  const size = days.days.length
  const byMeasure = new Map<AnswerMeasure, Record<DurationStatistic, Float64Array>>()
  const secondsOf = (measure: AnswerMeasure) => {
    const seconds = byMeasure.get(measure) ?? mapStatistics(() => new Float64Array(size))
    byMeasure.set(measure, seconds)
    return seconds
  }
  return {
    add: (part, measure, answers) => {
      const durations = sortedDurations(durationsOf(measure, answers), part.days)
      const seconds = secondsOf(measure)
      for (const statistic of durationStatistics) {
        const found = Float64Array.from(durations, (ofDay) => durationStatistic(ofDay, statistic) ?? Number.NaN)
        part.copy(found, seconds[statistic])
      }
    },
    candidatesOf: (measure) => durationCandidates(measure, secondsOf(measure), days),
  }
}

function durationsOf({ which, countedOn, from, hours }: AnswerMeasure, answers: RollupAnswers): Durations {
  const { isFirst, askedAt, answeredAt } = answers
  const sinceMessage = hours === 'all' ? answers.seconds : answers.businessSeconds
  const sinceCreation = hours === 'all' ? answers.secondsFromCreation : answers.businessSecondsFromCreation
  const durations = { at: [] as EpochSeconds[], since: [] as EpochSeconds[], seconds: [] as Seconds[] }
  for (let n = 0; n < isFirst.length; n++) {
    if (which === 'first' && !isFirst[n]) continue
    const seconds = (from === 'creation' ? sinceCreation : sinceMessage)[n] ?? null
    if (seconds === null) continue
    const answered = answeredAt[n] ?? 0
    durations.at.push(countedOn === 'question' ? (askedAt[n] ?? 0) : answered)
    // An answer of Tuesday is in no rollup that was read on Monday.
    durations.since.push(answered)
    durations.seconds.push(seconds)
  }
  return durations
}
