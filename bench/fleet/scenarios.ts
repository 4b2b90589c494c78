/**
 * The simulated workloads: a quiet day, the night of most reconciles, the first mirror of all
 * projects.
 */
import { schedulesForProjects } from '../../jobs/schedule-plan.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import type { EpochMs, Ms } from '../../src/values/time.ts'
import type { PerStream } from './costs.ts'
import { nextFiring } from './firings.ts'
import { createLoad, type Load, type ProjectSize } from './load.ts'

export type Scenario = {
  readonly name: string
  readonly load: Load
  readonly startsAt: EpochMs
  readonly warmUpMs: Ms
  readonly forMs: Ms
}

const minute: Ms = 60_000
const hour: Ms = 60 * minute
const midnight: EpochMs = Date.UTC(2026, 0, 15)

export function createScenarios(
  projects: readonly ProjectConfig[],
  size: ProjectSize,
  idle: PerStream<number>,
): Scenario[] {
  const hours = reconcilesByHour(projects)
  const at = (hourOfDay: number) => midnight + hourOfDay * hour
  const quietest = hours.indexOf(Math.min(...hours))
  const busiest = hours.indexOf(Math.max(...hours))
  const known = createLoad(size, idle, false)
  return [
    {
      name: 'quiet',
      load: known,
      startsAt: at(quietest),
      warmUpMs: 5 * minute,
      forMs: 25 * minute,
    },
    {
      name: 'night',
      load: known,
      startsAt: at(busiest) - 30 * minute,
      warmUpMs: 30 * minute,
      forMs: 90 * minute,
    },
    {
      name: 'first mirror',
      load: createLoad(size, idle, true),
      startsAt: at(quietest),
      warmUpMs: 15 * minute,
      forMs: 45 * minute,
    },
  ]
}

/** How many projects are reconciled in each hour of a day (UTC). */
function reconcilesByHour(projects: readonly ProjectConfig[]): number[] {
  const counts = new Array<number>(24).fill(0)
  for (const { recurrence, data } of schedulesForProjects(projects)) {
    if (data.schedule !== 'reconcile') continue
    const hourOfDay = Math.floor((nextFiring(recurrence, midnight) - midnight) / hour) % 24
    counts[hourOfDay] = (counts[hourOfDay] ?? 0) + 1
  }
  return counts
}
