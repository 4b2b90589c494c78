/** Whether two texts are the same words to the person who reads them, and a message a reply of ours. Pure. */
import type { EpochSeconds } from '../../values/time.ts'
import type { WritebackPayload } from './writeback-request.ts'

/**
 * Spaces, line ends, letter case and the marks that programs replace (quotes, dashes, ellipses) make no difference.
 * Texts with the same result have the same words.
 */
export function toWords(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[‘’‚‛′´`]/g, "'")
    .replace(/[“”„‟«»″]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}

/** Whether a field has the value that was set: the service may trim it, and convert email addresses to lower case. */
export function isSameValue(a: unknown, b: unknown): boolean {
  const normalize = (value: unknown) =>
    typeof value === 'string' ? value.normalize('NFC').trim().toLowerCase() : value
  return normalize(a) === normalize(b)
}

/** A message as the service or the mirror shows it. */
export type ShownReply = {
  readonly id: string
  readonly at: EpochSeconds | null
  readonly content: string | null
  readonly senderName: string | null
}

export function matchesPayload(
  { content, senderName }: Pick<ShownReply, 'content' | 'senderName'>,
  payload: WritebackPayload['message'],
): boolean {
  return (
    normalizeText(content) === normalizeText(payload.content) &&
    normalizeText(senderName) === normalizeText(payload.sender_name)
  )
}

/** The service may trim texts and normalise line ends and accents. */
function normalizeText(text: string | null): string {
  return (text ?? '').normalize('NFC').replace(/\s+/g, ' ').trim()
}

/** The times of a reply that has never left, each in the clock of the service. */
type ReplyAge = {
  /** Of the last message that the mirror had when the reply was queued. */
  readonly seenUntil: EpochSeconds | null
  readonly queuedAt: EpochSeconds
  /** A person queued it again, and knew what was there. */
  readonly isRequeued: boolean
}

/** Why a reply would reach the customer twice: a message with its words is newer, so it was sent from somewhere else. */
export function findRepetition(
  messages: readonly ShownReply[],
  payload: WritebackPayload['message'],
  { seenUntil, queuedAt, isRequeued }: ReplyAge,
): string | null {
  const isNewer = ({ at }: ShownReply) => {
    if (isRequeued) return at !== null && at > (seenUntil ?? queuedAt)
    return at === null || at >= queuedAt - wholeSecondsSlack || (seenUntil !== null && at > seenUntil)
  }
  const same = messages.find((one) => matchesPayload(one, payload) && isNewer(one))
  return same === undefined ? null : `${thereAlready}: message ${same.id} has the same words, and is newer than this`
}

/** All of these times are whole seconds. */
export const wholeSecondsSlack = 2

/** How the outcome of a write-back begins whose effect was there before it was sent. */
export const thereAlready = 'it is there already'
