/**
 * To whom a conversation was assigned, and when. The service shows only the present agent: earlier
 * ones follow from the changes that two readings showed, so each began and ended between two
 * readings.
 */
import type { EpochSeconds } from '../../values/time.ts'
import { type Calendar, localTime } from './calendar.ts'
import type { ConversationHistory } from './handlings.ts'

/** `watchedFrom`: since when changes of the conversation were watched. */
export function deriveAssignments(
  {
    id,
    createdAt,
    assignedAgentId,
    assignmentChanges,
  }: Pick<ConversationHistory, 'id' | 'createdAt' | 'assignedAgentId' | 'assignmentChanges'>,
  watchedFrom: EpochSeconds,
  calendar: Calendar,
) {
  const [firstChange] = assignmentChanges
  const first = {
    agent: firstChange === undefined ? assignedAgentId : firstChange.old,
    notBefore: createdAt,
    // Our clock, which dates the changes, may be behind that of the service.
    from: Math.min(watchedFrom, firstChange?.seenAt ?? watchedFrom),
  }
  const later = assignmentChanges.map(({ new: agent, oldReadAt, seenAt }, index) => {
    const shownFrom = assignmentChanges[index - 1]?.seenAt ?? first.from
    return { agent, notBefore: Math.min(Math.max(oldReadAt, shownFrom), seenAt), from: seenAt }
  })
  const readings = [first, ...later]
  const spans = readings.map((reading, index) => ({ ...reading, end: readings[index + 1] }))
  return spans
    .flatMap(({ agent, ...span }) => (agent === null ? [] : [{ agent, ...span }]))
    .map(({ agent, notBefore, from, end }, index) => ({
      conversation_id: id,
      assignment_number: index + 1,
      assigned_agent_id: agent,
      not_before_at: notBefore,
      from_at: from,
      from_date: calendar.dateOf(from),
      last_seen_at: end?.notBefore ?? null,
      to_at: end?.from ?? null,
      to_date: localTime(calendar, end?.from ?? null).date,
      seconds: end === undefined ? null : end.from - from,
    }))
}
