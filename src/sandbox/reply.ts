/** How the service shows a reply that the API sent: possibly with another text, name or time, or late. */
import type { Ms } from '../core/time.ts'
import type { Message } from './model.ts'
import type { Switches } from './switches.ts'

/** The message as shown; other messages are unchanged. */
export function alterReply(message: Message, s: Switches): Message {
  if (message.reply !== true) return message
  const { 'reply.sender': senderType, 'reply.kind': kind } = s
  const content = textAlterations[s['reply.text']](message.content)
  const senderDisplayName = nameAlterations[s['reply.name']](message.senderDisplayName)
  return { ...message, senderType, kind, content, senderDisplayName }
}

/** Whether replies are shown differently from how they were sent. */
export function altersReplies(s: Switches): boolean {
  const asSent = s['reply.text'] === 'as-sent' && s['reply.name'] === 'as-sent'
  const usual = s['reply.sender'] === 'agent' && s['reply.kind'] === 'utterance'
  return !asSent || !usual || s['reply.seconds'] !== 0 || s['reply.late'] !== 0
}

/** How long it is not shown. */
export function replyDelayMs({ reply }: Message, s: Switches): Ms {
  return reply === true ? s['reply.late'] : 0
}

/** The offset of its time. */
export function replyOffsetMs({ reply }: Message, s: Switches): Ms {
  return reply === true ? s['reply.seconds'] * 1000 : 0
}

const textAlterations: Record<Switches['reply.text'], (text: string) => string> = {
  'as-sent': (text) => text,
  trimmed: (text) => text.trim().replace(/\s+/g, ' '),
  escaped: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&#39;'),
  shortened: (text) => `${text.slice(0, Math.ceil(text.length / 3))}…`,
  signed: (text) => `${text}\n\nSent from the help desk`,
  translated: (text) =>
    [...text].map((letter) => String.fromCodePoint(0x3041 + ((letter.codePointAt(0) ?? 0) % 80))).join(''),
  redacted: () => '[removed]',
}

const nameAlterations: Record<Switches['reply.name'], (name: string) => string> = {
  'as-sent': (name) => name,
  extended: (name) => `${name} (Support)`,
  team: () => 'Customer Care',
  empty: () => '',
}
