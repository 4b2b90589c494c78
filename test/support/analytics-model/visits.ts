/**
 * The model of fct_visit: a visitor's entries in order of time; a pause of more than half an hour
 * begins a new visit.
 */
import type { LocalClock } from './local-clock.ts'
import { type ActivityRow, seconds, toTime } from './raw-rows.ts'

const longestPauseSeconds = 1800

export function visitRows(activity: readonly ActivityRow[], clock: LocalClock) {
  const visitors = new Set(activity.map(({ visitor_id }) => visitor_id))
  return [...visitors].flatMap((visitor) => visitsOf(visitor, activity, clock))
}

function visitsOf(visitor: string, activity: readonly ActivityRow[], clock: LocalClock) {
  const entries = activity
    .filter(
      (entry) =>
        entry.visitor_id === visitor && entry.deleted_at === null && entry.occurred_at !== null,
    )
    .map((entry) => ({ ...entry, at: seconds(entry.occurred_at ?? '') }))
    .sort((a, b) => a.at - b.at || compareText(a.entry_hash, b.entry_hash) || a.ordinal - b.ordinal)
  const visits: (typeof entries)[] = []
  for (const entry of entries) {
    const current = visits.at(-1)
    const previous = current?.at(-1)
    if (
      current === undefined ||
      previous === undefined ||
      entry.at - previous.at > longestPauseSeconds
    )
      visits.push([entry])
    else current.push(entry)
  }
  return visits.map((ofVisit, index) => {
    const from = ofVisit[0]?.at ?? 0
    const to = ofVisit.at(-1)?.at ?? 0
    return {
      visitor_id: visitor,
      visit_number: index + 1,
      started_at: toTime(from),
      started_date: clock.localTime(from).date,
      ended_at: toTime(to),
      entries: ofVisit.length,
      seconds: to - from,
      first_page: ofVisit.find(({ page }) => page !== null)?.page ?? null,
      last_page: ofVisit.findLast(({ page }) => page !== null)?.page ?? null,
    }
  })
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
