/** The model of fct_availability_hour: each snapshot holds until the next one, second by second. */
import type { LocalClock } from './local-clock.ts'
import { type SnapshotRow, seconds } from './raw-rows.ts'

/** Without a newer snapshot nothing is known after that long. */
const holdsAtMostSeconds = 600

type AvailabilityRow = {
  readonly date: string
  readonly hour: number
  snapshots: number
  observed_seconds: number
  available_seconds: number
  agent_seconds: number
  agents_min: number | null
  agents_max: number | null
}

export function availabilityRows(
  snapshots: readonly SnapshotRow[],
  clock: LocalClock,
): AvailabilityRow[] {
  const rows: AvailabilityRow[] = []
  const rowAt = (at: number): AvailabilityRow => {
    const { date, hour } = clock.localTime(at)
    const found = rows.findLast((row) => row.date === date && row.hour === hour)
    if (found !== undefined) return found
    const empty = { snapshots: 0, observed_seconds: 0, available_seconds: 0, agent_seconds: 0 }
    const row = { date, hour, ...empty, agents_min: null, agents_max: null }
    rows.push(row)
    return row
  }
  const ordered = snapshots.toSorted((a, b) => seconds(a.read_at) - seconds(b.read_at))
  ordered.forEach((snapshot, index) => {
    const readAt = seconds(snapshot.read_at)
    const next = ordered[index + 1]
    const until =
      next === undefined ? readAt : Math.min(seconds(next.read_at), readAt + holdsAtMostSeconds)
    rowAt(readAt).snapshots++
    noteAgents(rowAt(readAt), snapshot)
    for (let at = readAt; at < until; at++) addSecond(rowAt(at), snapshot)
  })
  return rows
}

function addSecond(row: AvailabilityRow, snapshot: SnapshotRow): void {
  noteAgents(row, snapshot)
  // The service did not say, so nothing was observed.
  if (snapshot.available === null || snapshot.agents_online === null) return
  row.observed_seconds++
  if (snapshot.available === true) row.available_seconds++
  row.agent_seconds += snapshot.agents_online
}

/** Fewest and most agents of the snapshots that hold at some time within the hour. */
function noteAgents(row: AvailabilityRow, { agents_online }: SnapshotRow): void {
  if (agents_online === null) return
  row.agents_min = Math.min(row.agents_min ?? agents_online, agents_online)
  row.agents_max = Math.max(row.agents_max ?? agents_online, agents_online)
}
