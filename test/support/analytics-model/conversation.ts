/**
 * One living conversation with its living messages in the order in which they were written, and who
 * wrote each.
 */
import {
  type ChangeRow,
  type MessageRow,
  type ModelSettings,
  type ProjectRows,
  type RawConversation,
  seconds,
} from './raw-rows.ts'

export type ModelRole = 'visitor' | 'human' | 'ai' | 'other' | 'event'

export type ModelMessage = {
  readonly id: number
  readonly at: number | null
  readonly role: ModelRole
  readonly name: string
}

export type TimedModelMessage = ModelMessage & { readonly at: number }

export type ModelConversation = {
  readonly row: RawConversation
  readonly createdAt: number | null
  readonly handledAt: number | null
  readonly messages: readonly ModelMessage[]
  /** Those with a time; equal seconds in the order of their ids. */
  readonly timed: readonly TimedModelMessage[]
  /** What visitors, people and the AI said: neither events nor messages of unknown senders. */
  readonly utterances: readonly TimedModelMessage[]
  /** Changes of `handled_at`, with the last message that either copy named. */
  readonly handledChanges: readonly HandledChange[]
  /** Changes of `assigned_agent_id`. */
  readonly agentChanges: readonly ChangeRow[]
}

type HandledChange = ChangeRow & {
  readonly lastMessageBefore: number | null
  readonly lastMessageAfter: number | null
}

export function livingConversations(rows: ProjectRows): ModelConversation[] {
  return rows.conversations
    .filter(({ deleted_at }) => deleted_at === null)
    .map((row) => assemble(row, rows))
}

function assemble(row: RawConversation, rows: ProjectRows): ModelConversation {
  const messages = rows.messages
    .filter((message) => message.conversation_id === row.id && message.deleted_at === null)
    .map((message) => toModelMessage(message, rows.settings.roles))
  const timed = messages.filter((message) => message.at !== null) as TimedModelMessage[]
  timed.sort((a, b) => a.at - b.at || a.id - b.id)
  return {
    row,
    createdAt: row.created_at === null ? null : seconds(row.created_at),
    handledAt: row.handled_at === null ? null : seconds(row.handled_at),
    messages,
    timed,
    utterances: timed.filter(({ role }) => role === 'visitor' || role === 'human' || role === 'ai'),
    handledChanges: handledChangesOf(row, rows.changes),
    agentChanges: rows.changes.filter(
      ({ conversation_id, field }) => conversation_id === row.id && field === 'assigned_agent_id',
    ),
  }
}

/**
 * From the copy as it is now back to the first one: each change says what the copy before it
 * showed.
 */
function handledChangesOf(row: RawConversation, changes: readonly ChangeRow[]): HandledChange[] {
  const timeOf = (time: string | null) => (time === null ? null : seconds(time))
  const found: HandledChange[] = []
  let lastMessageAt = row.last_message_at
  const own = changes.filter(({ conversation_id }) => conversation_id === row.id)
  for (let end = own.length - 1; end >= 0; ) {
    let start = end
    while (own[start - 1]?.seen_at === own[end]?.seen_at) start--
    const ofOneCopy = own.slice(start, end + 1)
    const moved = ofOneCopy.find(({ field }) => field === 'last_message_at')
    const before = moved === undefined ? lastMessageAt : moved.old_value
    const handled = ofOneCopy.find(({ field }) => field === 'handled_at')
    const shown = { lastMessageBefore: timeOf(before), lastMessageAfter: timeOf(lastMessageAt) }
    if (handled !== undefined) found.unshift({ ...handled, ...shown })
    lastMessageAt = before
    end = start - 1
  }
  return found
}

export function toModelMessage(message: MessageRow, roles: ModelSettings['roles']): ModelMessage {
  return {
    id: message.id,
    at: message.created_at === null ? null : seconds(message.created_at),
    role: message.kind === 'utterance' ? (roles[message.sender_type ?? ''] ?? 'other') : 'event',
    name: message.sender_display_name ?? '',
  }
}
