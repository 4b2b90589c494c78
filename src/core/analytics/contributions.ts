/** Who wrote how much in a conversation, day by day. */
import type { Calendar } from './calendar.ts'
import type { ContributionRow } from './fact-rows.ts'
import type { TimedMessage } from './turns.ts'

/** `messages`: in order. */
export function deriveContributions(
  conversationId: string,
  messages: readonly TimedMessage[],
  calendar: Calendar,
): ContributionRow[] {
  const rows: { -readonly [Column in keyof ContributionRow]: ContributionRow[Column] }[] = []
  for (const { at, role, name: author } of messages) {
    const date = calendar.dateOf(at)
    const name = role === 'human' || role === 'ai' ? author : ''
    // Its row is nearly always among the last ones.
    const known = rows.findLast((row) => row.role === role && row.date === date && row.name === name)
    if (known === undefined) rows.push({ conversation_id: conversationId, date, role, name, messages: 1, first_at: at })
    else known.messages++
  }
  return rows
}
