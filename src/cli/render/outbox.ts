/** Renders the state of the outbox, for several commands. */
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount } from '../../core/format.ts'
import { type StatusCounts, writebackStatuses } from '../../core/outbox/state.ts'

/** `1,204 succeeded, 3 failed` */
export function formatCounts(counts: StatusCounts): string {
  const present = writebackStatuses.filter((status) => (counts[status] ?? 0) > 0)
  return present.map((status) => `${formatCount(counts[status] ?? 0)} ${status}`).join(', ')
}

/** No line if every row has a project. `isOnlyProject`: the next push assigns them to it. */
export function renderWithoutProject(rows: number, isOnlyProject = false): string[] {
  if (rows === 0) return []
  const [have, them, are] = rows === 1 ? ['1 row has', 'it', 'is'] : [`${formatCount(rows)} rows have`, 'them', 'are']
  const consequence = isOnlyProject
    ? `: the next push assigns ${them} to this project`
    : ` and ${are} not sent until project_id is set in writebacks and writeback_events`
  return [`${have} no project${consequence}`]
}

/** No line if no lane is blocked. */
export function renderBlockedLanes(lanes: number, hint: CommandHint): string[] {
  if (lanes === 0) return []
  const waiting = lanes === 1 ? '1 lane waits' : `${formatCount(lanes)} lanes wait`
  return [`${waiting} until you resolve an uncertain write-back: ${hint('writeback list --status uncertain')}`]
}
