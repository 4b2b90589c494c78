/** Visits: runs of a visitor's activity without a longer gap. */
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import type { EpochSeconds, Seconds } from '../../values/time.ts'
import type { Calendar } from './calendar.ts'

export type ActivityEntry = {
  readonly visitorId: string
  readonly at: EpochSeconds
  /** Null: it names none, or we do not know the field. */
  readonly page: string | null
}

/**
 * The field of an entry that names its page; null: none is read. An address says who visited it as
 * much as a name does, so it stays out with these.
 */
export function pageFieldOf({
  fields,
  personalData,
}: Pick<AnalyticsSettings, 'fields' | 'personalData'>): string | null {
  return personalData ? fields.activityPage : null
}

/** All entries of some visitors, in any order; of those of one second, the given order counts. */
export function deriveVisits(
  entries: readonly ActivityEntry[],
  gapSeconds: Seconds,
  calendar: Calendar,
) {
  const visitors = Map.groupBy(entries, ({ visitorId }) => visitorId)
  return [...visitors].flatMap(([visitorId, ofVisitor]) =>
    runsOf(ofVisitor, gapSeconds).map((run, index) =>
      visitRow(visitorId, index + 1, run, calendar),
    ),
  )
}

type Run = [ActivityEntry, ...ActivityEntry[]]

function runsOf(entries: readonly ActivityEntry[], gapSeconds: Seconds): Run[] {
  const runs: Run[] = []
  for (const entry of entries.toSorted((a, b) => a.at - b.at)) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run !== undefined && before !== undefined && entry.at - before.at <= gapSeconds)
      run.push(entry)
    else runs.push([entry])
  }
  return runs
}

function visitRow(visitorId: string, number: number, run: Run, calendar: Calendar) {
  const startedAt = run[0].at
  const endedAt = run.at(-1)?.at ?? startedAt
  return {
    visitor_id: visitorId,
    visit_number: number,
    started_at: startedAt,
    started_date: calendar.dateOf(startedAt),
    ended_at: endedAt,
    entries: run.length,
    seconds: endedAt - startedAt,
    first_page: run.find(({ page }) => page !== null)?.page ?? null,
    last_page: run.findLast(({ page }) => page !== null)?.page ?? null,
  }
}
