/**
 * The model of fct_assignment: each agent from the reading that first showed it to the one that
 * showed another.
 */
import type { ModelConversation } from './conversation.ts'
import type { LocalClock } from './local-clock.ts'
import { seconds, toTime } from './raw-rows.ts'

type Assignment = {
  readonly agent: string | null
  readonly notBefore: number | null
  readonly from: number
  lastSeen: number | null
  to: number | null
}

export function assignmentRows(
  { row, createdAt, agentChanges }: ModelConversation,
  mirroredSince: number,
  clock: LocalClock,
) {
  let agent = agentChanges.length > 0 ? agentChanges[0]?.old_value : row.assigned_agent_id
  const begins = [mirroredSince, createdAt ?? mirroredSince].sort((a, b) => b - a)[0] ?? 0
  const firstSeen = agentChanges.map(({ seen_at }) => seconds(seen_at))[0]
  const from = firstSeen !== undefined && firstSeen < begins ? firstSeen : begins
  let current: Assignment = {
    agent: agent ?? null,
    notBefore: createdAt,
    from,
    lastSeen: null,
    to: null,
  }
  const all = [current]
  for (const { new_value, seen_at, old_read_at } of agentChanges) {
    agent = new_value
    const to = seconds(seen_at)
    let lastSeen = seconds(old_read_at)
    if (lastSeen < current.from) lastSeen = current.from
    if (lastSeen > to) lastSeen = to
    current.lastSeen = lastSeen
    current.to = to
    current = { agent, notBefore: lastSeen, from: to, lastSeen: null, to: null }
    all.push(current)
  }
  return all
    .filter((assignment) => assignment.agent !== null)
    .map((assignment, index) => ({
      conversation_id: row.id,
      assignment_number: index + 1,
      assigned_agent_id: assignment.agent,
      not_before_at: assignment.notBefore === null ? null : toTime(assignment.notBefore),
      from_at: toTime(assignment.from),
      from_date: clock.date(assignment.from),
      last_seen_at: assignment.lastSeen === null ? null : toTime(assignment.lastSeen),
      to_at: assignment.to === null ? null : toTime(assignment.to),
      to_date: clock.date(assignment.to),
      seconds: assignment.to === null ? null : assignment.to - assignment.from,
    }))
}
