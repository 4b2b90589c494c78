/** The model's facts of a project: what the tables of the analyst's layer have to hold. */
import { assignmentRows } from './assignments.ts'
import { availabilityRows } from './availability.ts'
import { livingConversations } from './conversation.ts'
import { contributionRows, toConversationRow } from './conversation-facts.ts'
import { createLocalClock } from './local-clock.ts'
import { type ProjectRows, seconds } from './raw-rows.ts'
import { statesOf, toStateRow } from './states.ts'
import { visitRows } from './visits.ts'
import { toWaitRow, waitsOf } from './waits.ts'

export function deriveModelFacts(rows: ProjectRows) {
  const clock = createLocalClock(rows.settings)
  const mirroredSince = seconds(rows.settings.mirroredSince)
  const parts = livingConversations(rows).map((conversation) => ({
    conversation,
    waits: waitsOf(conversation, mirroredSince).map((wait) => toWaitRow(wait, clock)),
    states: statesOf(conversation, mirroredSince).map((span, index) =>
      toStateRow(span, index + 1, clock),
    ),
  }))
  return {
    waits: parts.flatMap(({ conversation, waits }) =>
      waits.map((wait) => ({ conversation_id: conversation.row.id, ...wait })),
    ),
    states: parts.flatMap(({ conversation, states }) =>
      states.map((state) => ({ conversation_id: conversation.row.id, ...state })),
    ),
    assignments: parts.flatMap(({ conversation }) =>
      assignmentRows(conversation, mirroredSince, clock),
    ),
    contributions: parts.flatMap(({ conversation }) => contributionRows(conversation, clock)),
    conversations: parts.map((part) => toConversationRow(part, rows.settings, clock)),
    availabilityHours: availabilityRows(rows.snapshots, clock),
    visits: visitRows(rows.activity, clock),
  }
}

export type ModelFacts = ReturnType<typeof deriveModelFacts>
