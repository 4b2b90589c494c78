/** The targets as rows. A changed target is a second one of the same name, so that a change never alters the past. */
import type { Target } from './analytics-settings.ts'
import type { LocalDate, SlaRow } from './fact-rows.ts'

/** Earlier than any wait. */
export const fromTheBeginning: LocalDate = '1970-01-01'

/** A target without an end holds until another one of its name begins. */
export function slaRows(targets: readonly Target[]): SlaRow[] {
  return targets.map((target) => ({
    name: target.name,
    clock: target.clock,
    which: target.which,
    target_seconds: target.withinSeconds,
    in_business: target.inBusinessHours,
    from_date: startOf(target),
    to_date: earliest([target.to, nextStart(target, targets)]),
  }))
}

function startOf({ from }: Target): LocalDate {
  return from ?? fromTheBeginning
}

function nextStart(target: Target, targets: readonly Target[]): LocalDate | null {
  const later = targets.filter(({ name }) => name === target.name).map(startOf)
  return earliest(later.filter((date) => date > startOf(target)))
}

function earliest(dates: readonly (LocalDate | null)[]): LocalDate | null {
  return dates.filter((date) => date !== null).toSorted()[0] ?? null
}
