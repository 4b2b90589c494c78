/**
 * Finds rows that would send the same words to the same conversation twice: an earlier row of the file, or a reply that was
 * queued or sent in the last 30 days.
 */
import type { EarlierReply, ImportLookups } from '../../core/outbox/import-lookups.ts'
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { toWords } from '../../core/outbox/same-words.ts'
import type { WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import type { RefIndex } from './ref-index.ts'

const lookBackMs = 30 * 24 * 60 * 60 * 1000

/** The conversation and the words of a reply; null for other operations. */
export function toReplyKey({ operation, target, payload }: WritebackRequest): string | null {
  return operation === 'message' ? joinKey(target, payload.content) : null
}

function joinKey(conversation: string, content: string): string {
  return `${conversation.toLowerCase()} ${toWords(content)}`
}

/** `index`: the replies of the rows before it. */
export function repeatedRowMistake(key: string, row: number, index: RefIndex): readonly RequestMistake[] {
  const first = index.firstLine(key, row)
  return first === row ? [] : [toRepetition(repeatsRow, `row ${first}`)]
}

const repeatsRow = 'an earlier row sends the same words to the same conversation'
const wasSent = 'the same words were sent to the same conversation in the last 30 days'
const isQueued = 'the same words are queued for the same conversation'

/** By reply key, the mistake of a row that sends these words again. */
export async function findEarlierReplies(
  lookups: ImportLookups,
  requests: readonly WritebackRequest[],
  now: EpochMs,
): Promise<ReadonlyMap<string, readonly RequestMistake[]>> {
  const replies = requests.filter(({ operation }) => operation === 'message')
  const conversations = [...new Set(replies.map(({ target }) => target.toLowerCase()))]
  const earlier = await lookups.listReplies(conversations, toTimestamp(now - lookBackMs))
  return new Map(earlier.map((reply) => [joinKey(reply.conversation, reply.content), [toReplyMistake(reply)]]))
}

function toReplyMistake({ sentAt }: EarlierReply): RequestMistake {
  return sentAt === null ? toRepetition(isQueued, null) : toRepetition(wasSent, sentAt.slice(0, 10))
}

function toRepetition(why: string, found: string | null): RequestMistake {
  return toMistake('content', why, found, 'allow-duplicates')
}
