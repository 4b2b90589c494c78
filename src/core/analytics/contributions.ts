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
  const rows = new Map<string, { -readonly [Column in keyof ContributionRow]: ContributionRow[Column] }>()
  for (const { at, role, name: author } of messages) {
    const date = calendar.dateOf(at)
    const name = role === 'human' || role === 'ai' ? author : ''
    const key = `${date} ${role} ${name}`
    const row = rows.get(key)
    if (row === undefined)
      rows.set(key, { conversation_id: conversationId, date, role, name, messages: 1, first_at: at })
    else row.messages++
  }
  return [...rows.values()]
}
