/**
 * What became of a reply, by the ids of the messages that a conversation shows now and showed before it left. Never by
 * times: clocks of a service may be wrong, and a reply may show with any text, name, sender and time. Pure.
 */
import { createHash } from 'node:crypto'
import type { Writeback } from '../../core/outbox/outbox.ts'
import type { Payload } from '../../core/outbox/wish.ts'
import type { Said } from '../talk.ts'
import type { Looked } from './procedure.ts'

export type Known = {
  /** All ids that it showed before the reply left; null = they could not all be read. */
  readonly before: ReadonlySet<string> | null
  /** Whether one of them shows other words than before: a service may add a reply to a message that is there. */
  readonly isChanged: boolean
  /** Ids that are the proof of other write-backs. */
  readonly others: ReadonlySet<string>
  readonly payload: Payload['message']
  /** Whether all messages show now. */
  readonly whole: boolean
}

/** It goes again only if the conversation shows exactly the messages that it showed before. */
export function judge(shown: readonly Said[], { before, isChanged, others, payload, whole }: Known): Looked {
  if (before === null) {
    const like = shown.find((said) => !others.has(said.id) && isSame(said, payload))
    const hint = like === undefined ? '' : `; message ${like.id} is like it`
    return { kind: 'unknowable', why: `not all messages that were there before it left could be read${hint}` }
  }
  const news = newOnes(shown, before, others)
  const same = news.find((said) => isSame(said, payload))
  if (same !== undefined)
    return { kind: 'found', how: `it is in the conversation (message ${same.id})`, messageId: same.id }
  const [other] = news
  if (other !== undefined)
    return {
      kind: 'unknowable',
      why: `message ${other.id} is new in the conversation, and may be this one as the service shows it`,
    }
  if (isChanged)
    return { kind: 'unknowable', why: 'a message that was there before shows other words: the reply may be part of it' }
  if (!whole) return { kind: 'unknowable', why: 'the service does not show all messages of the conversation' }
  const there = new Set(shown.map(({ id }) => id))
  const gone = [...before].find((id) => !there.has(id))
  if (gone === undefined) return { kind: 'absent' }
  return {
    kind: 'unknowable',
    why: `the conversation does not show message ${gone}, which was there before: others may be hidden too`,
  }
}

/** What is there and was not before, and is not known to be another write-back's. */
export function newOnes(
  shown: readonly Said[],
  before: ReadonlySet<string>,
  others: ReadonlySet<string>,
): readonly Said[] {
  return shown.filter(({ id }) => !before.has(id) && !others.has(id))
}

/** Null: not all of them were noted. Earlier versions noted those of the last minutes only. */
export function idsBefore({ evidence: { before } }: Writeback): ReadonlySet<string> | null {
  return before?.ids === undefined || before.since !== undefined ? null : new Set(before.ids)
}

/** Of the words of some messages, whatever order they came in. */
export function digestOf(messages: readonly Said[]): string {
  const words = messages.map(({ id, content }) => JSON.stringify([id, content])).sort()
  return createHash('sha256').update(words.join('\n')).digest('base64url')
}

/** Whether those of `before` that show now say something else; not told where one is missing, or no digest was noted. */
export function hasChanged(shown: readonly Said[], before: ReadonlySet<string>, digest: string | undefined): boolean {
  const there = shown.filter(({ id }) => before.has(id))
  return digest !== undefined && there.length === before.size && digestOf(there) !== digest
}

export function isSame({ content, senderName }: Said, payload: Payload['message']): boolean {
  return plain(content) === plain(payload.content) && plain(senderName) === plain(payload.sender_name)
}

/** A service may trim a text, and write its line ends and accents in another way. */
function plain(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}
