/** Whether a visitor has written since the moment that a person saw: then what that person wanted may be wrong by now. */
import type { Answer } from '../core/call.ts'
import type { Writeback } from '../core/outbox/outbox.ts'
import { laneOf } from '../core/outbox/wish.ts'
import { moment, rfc3339, type Seconds } from '../core/time.ts'
import { fieldsOf } from '../streams/row.ts'
import type { WritebackDeps } from './deps.ts'
import { readTalk, type Said, sideOf } from './talk.ts'

/** What the person saw: the conversation up to this second, or up to this message. `mirror`: the mirror showed it. */
export type SeenUpTo = { readonly at: Seconds; readonly mirror: boolean } | { readonly id: string }

/** What was said to be seen, else what the mirror showed, else all there was when it was queued. */
export function seenBy(one: Writeback, expect: string | null, conversation: Answer): SeenUpTo {
  const said = moment(expect)
  if (said !== undefined) return { at: said, mirror: false }
  if (expect !== null) return { id: expect }
  const shown = moment(one.seen?.last_message_at)
  if (shown !== undefined) return { at: shown, mirror: true }
  // The service has its own clock.
  const ahead = conversation.servedAt === null ? 0 : conversation.servedAt - Math.floor(conversation.askedAt / 1000)
  return { at: (moment(one.createdAt) ?? 0) + ahead, mirror: false }
}

/**
 * Why it must not go: what happened since; null: nothing did. By times, and by ids as well, as clocks may be wrong: where
 * the mirror holds what was seen, a message that it does not hold is news, whatever its time. Throws CallFailed.
 */
export async function newsSince(
  deps: WritebackDeps,
  id: string,
  conversation: Answer,
  seen: SeenUpTo,
): Promise<string | null> {
  const fields = fieldsOf(conversation.data)
  const last = moment(fields?.lastMessageAt)
  const moved = 'id' in seen || last === undefined || last > seen.at
  if ('at' in seen && last !== undefined && moved && sideOf(fields?.lastMessageSenderType) === 'visitor')
    return `a visitor wrote at ${rfc3339(last)}, after ${rfc3339(seen.at)}`
  const held = await heldIds(deps, id, seen)
  if (!moved && held === null) return null
  const { said, whole } = await readTalk(deps, id)
  const later =
    'at' in seen ? said.filter(({ at }) => (at ?? Number.POSITIVE_INFINITY) > seen.at) : after(said, seen.id)
  if (later === null) return `the message ${'id' in seen ? seen.id : ''} is not in the conversation`
  const from = held === null ? later : said.filter((it) => later.includes(it) || !held.has(it.id))
  const own = await deps.outbox.provenMessages(laneOf('conversation', id))
  // Whoever is not known to be on our side is taken for a visitor: that is the safe mistake.
  const news = from.find((it) => it.by !== 'ours' && !own.has(it.id))
  if (news !== undefined)
    return `a visitor wrote ${news.at === null ? 'since' : `at ${rfc3339(news.at)}`} (message ${news.id})`
  return whole || !moved ? null : 'the service does not show all messages, so a visitor may have written since'
}

/** Ids of the messages that the mirror holds; null: what was seen is not among them, or was not seen there. */
async function heldIds(deps: WritebackDeps, id: string, seen: SeenUpTo): Promise<ReadonlySet<string> | null> {
  if ('at' in seen && !seen.mirror) return null
  const { ids, newest } = await deps.outbox.mirroredMessages(id)
  const holds = 'id' in seen ? ids.has(seen.id) : (moment(newest) ?? Number.NEGATIVE_INFINITY) >= seen.at
  return holds ? ids : null
}

function after(said: readonly Said[], id: string): readonly Said[] | null {
  const place = said.findIndex((message) => message.id === id)
  return place < 0 ? null : said.slice(place + 1)
}
