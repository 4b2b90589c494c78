/** A write-back for people: with the visitor's name, and the words that tell it from others. Pure. */
import type { OutboxEntry } from './outbox-entry.ts'
import { type TargetState, visitorNameOf } from './review.ts'
import { excerpt } from './review-words.ts'

export type NamedEntry = OutboxEntry & {
  /** Null if the mirror does not know it. */
  readonly visitorName: string | null
  /** Of the visitor, in the conversation. */
  readonly lastWords: string | null
  /** Of the reply or the note. */
  readonly firstWords: string | null
}

export function toNamedEntry(entry: OutboxEntry, target: TargetState | null): NamedEntry {
  const { content } = entry.payload
  const isConversation = target?.kind === 'conversation'
  const lastText = isConversation ? (target.lastVisitorMessage?.text ?? null) : null
  return {
    ...entry,
    visitorName: visitorNameOf(target),
    lastWords: lastText === null ? null : excerpt(lastText),
    firstWords: typeof content === 'string' ? excerpt(content) : null,
  }
}
