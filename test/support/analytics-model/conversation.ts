/** One living conversation with its living messages in the order in which they were written, and who wrote each. */
import {
  type ChangeRow,
  type ConversationRow,
  type MessageRow,
  type ModelSettings,
  type ProjectRows,
  seconds,
} from './raw-rows.ts'

export type ModelRole = 'visitor' | 'human' | 'ai' | 'other' | 'event'

export type ModelMessage = {
  readonly id: number
  readonly at: number | null
  readonly role: ModelRole
  readonly name: string
}

export type TimedMessage = ModelMessage & { readonly at: number }

export type ModelConversation = {
  readonly row: ConversationRow
  readonly createdAt: number | null
  readonly handledAt: number | null
  readonly messages: readonly ModelMessage[]
  /** Those with a time; equal seconds in the order of their ids. */
  readonly timed: readonly TimedMessage[]
  /** What visitors, people and the AI said: neither events nor messages of unknown senders. */
  readonly utterances: readonly TimedMessage[]
  /** Changes of `handled_at`. */
  readonly handledChanges: readonly ChangeRow[]
}

export function livingConversations(rows: ProjectRows): ModelConversation[] {
  return rows.conversations.filter(({ deleted_at }) => deleted_at === null).map((row) => assemble(row, rows))
}

function assemble(row: ConversationRow, rows: ProjectRows): ModelConversation {
  const messages = rows.messages
    .filter((message) => message.conversation_id === row.id && message.deleted_at === null)
    .map((message) => toModelMessage(message, rows.settings.roles))
  const timed = messages.filter((message) => message.at !== null) as TimedMessage[]
  timed.sort((a, b) => a.at - b.at || a.id - b.id)
  return {
    row,
    createdAt: row.created_at === null ? null : seconds(row.created_at),
    handledAt: row.handled_at === null ? null : seconds(row.handled_at),
    messages,
    timed,
    utterances: timed.filter(({ role }) => role === 'visitor' || role === 'human' || role === 'ai'),
    handledChanges: rows.changes.filter(
      ({ conversation_id, field }) => conversation_id === row.id && field === 'handled_at',
    ),
  }
}

export function toModelMessage(message: MessageRow, roles: ModelSettings['roles']): ModelMessage {
  return {
    id: message.id,
    at: message.created_at === null ? null : seconds(message.created_at),
    role: message.kind === 'utterance' ? (roles[message.sender_type ?? ''] ?? 'other') : 'event',
    name: message.sender_display_name ?? '',
  }
}
