/** The seeded past of one project: as many rows as asked for, none of them kept, each made when somebody looks. */
import type { EpochMs } from '../../core/time.ts'
import type { Switches } from '../switches.ts'
import { type Activities, activities } from './activities.ts'
import { type Calls, calls } from './calls.ts'
import { type Conversations, conversations } from './conversations.ts'
import { type Dice, diceFor, purposes } from './dice.ts'
import { identity } from './identity.ts'
import { type Oddity, type Phrases, phrasesFor } from './phrases.ts'
import { timelineOf } from './timeline.ts'
import { type Visitors, visitors } from './visitors.ts'

/** How many. A range is drawn evenly, both ends included. */
export type Size = {
  readonly conversations: number
  readonly visitors: number
  readonly calls: number
  readonly messagesPerConversation: number | Range
  readonly activityPerVisitor: number | Range
  /** How far back the past goes. */
  readonly days: number
}
export type Range = readonly [low: number, high: number]

export const usualSize: Size = {
  conversations: 300,
  visitors: 200,
  calls: 120,
  messagesPerConversation: [1, 30],
  activityPerVisitor: [0, 12],
  days: 60,
}

export type World = {
  readonly dice: Dice
  readonly phrases: Phrases
  /** How odd its texts are. */
  readonly content: Oddity
  readonly conversations: Conversations
  readonly visitors: Visitors
  readonly activities: Activities
  readonly calls: Calls
}

/** `end`: when the past ends and the service starts; its last row is a few seconds older. */
export type Past = { readonly seed: number; readonly size: Size; readonly end: EpochMs }

const dayMs = 86_400_000

export function worldOf({ seed, size, end }: Past, switches: Switches): World {
  const dice = diceFor(seed)
  const phrases = phrasesFor(dice)
  const [from, to] = [end - size.days * dayMs, end - 5000]
  const line = (purpose: 'conversation' | 'visitor' | 'call', count: number, storm: number) =>
    timelineOf({ from, to, count, storm }, dice, purposes[purpose])
  const visitorIds = identity(dice, purposes.visitor)
  const visitorOf = (thrown: number) => visitorIds.of(thrown % Math.max(1, size.visitors))
  const parts = { dice, phrases, to, visitorOf, content: switches.content }
  return {
    dice,
    phrases,
    content: switches.content,
    conversations: conversations({
      ...parts,
      count: size.conversations,
      messages: range(size.messagesPerConversation),
      messageStorm: switches['storm.messages'],
      time: line('conversation', size.conversations, switches['storm.conversations']),
    }),
    visitors: visitors({
      ...parts,
      count: size.visitors,
      ids: visitorIds,
      time: line('visitor', size.visitors, switches['storm.visitors']),
    }),
    activities: activities(dice, range(size.activityPerVisitor), switches['storm.activity']),
    calls: calls({ ...parts, count: size.calls, time: line('call', size.calls, switches['storm.calls']) }),
  }
}

function range(size: number | Range): Range {
  return typeof size === 'number' ? [size, size] : size
}
