/**
 * Availability by local hour. A snapshot holds until the next one, but only for a limited time, as
 * the mirror may have stopped in between.
 */
import type { EpochSeconds, LocalDate, Seconds } from '../../values/time.ts'
import type { Calendar } from './calendar.ts'

export type AvailabilitySnapshot = {
  readonly at: EpochSeconds
  /** If one of them is null, the service did not say, and the snapshot observes nothing. */
  readonly available: boolean | null
  readonly agentsOnline: number | null
  /** When the last of `count` equal snapshots was taken that are stored as this one. */
  readonly until?: EpochSeconds
  readonly count?: number
}

/** `snapshots`: in the order of time. The last one holds for no time. */
export function deriveAvailabilityHours(
  snapshots: readonly AvailabilitySnapshot[],
  holdSeconds: Seconds,
  calendar: Calendar,
): HourRow[] {
  const rows = new Map<string, HourRow>()
  const rowAt = (at: EpochSeconds) => {
    const date = calendar.dateOf(at)
    const hour = calendar.hourOf(at)
    const key = `${date} ${hour}`
    const row = rows.get(key) ?? emptyRow(date, hour)
    rows.set(key, row)
    return row
  }
  for (const [index, snapshot] of snapshots.entries()) {
    const { until = snapshot.at, count = 1 } = snapshot
    const ends = Math.min(until + holdSeconds, snapshots[index + 1]?.at ?? until)
    const taken = rowAt(snapshot.at)
    taken.snapshots += count
    addAgents(taken, snapshot)
    for (let from = snapshot.at; from < ends; ) {
      const to = Math.min(ends, calendar.hourEnd(from))
      addSpan(rowAt(from), snapshot, to - from)
      from = to
    }
  }
  return [...rows.values()]
}

type HourRow = ReturnType<typeof emptyRow>

function emptyRow(date: LocalDate, hour: number) {
  const agents: Record<'agents_min' | 'agents_max', number | null> = {
    agents_min: null,
    agents_max: null,
  }
  return {
    date,
    hour,
    snapshots: 0,
    observed_seconds: 0,
    available_seconds: 0,
    agent_seconds: 0,
    ...agents,
  }
}

function addSpan(row: HourRow, snapshot: AvailabilitySnapshot, seconds: Seconds): void {
  addAgents(row, snapshot)
  if (snapshot.available === null || snapshot.agentsOnline === null) return
  row.observed_seconds += seconds
  if (snapshot.available) row.available_seconds += seconds
  row.agent_seconds += seconds * snapshot.agentsOnline
}

function addAgents(row: HourRow, { agentsOnline }: AvailabilitySnapshot): void {
  if (agentsOnline === null) return
  row.agents_min = Math.min(row.agents_min ?? agentsOnline, agentsOnline)
  row.agents_max = Math.max(row.agents_max ?? agentsOnline, agentsOnline)
}
