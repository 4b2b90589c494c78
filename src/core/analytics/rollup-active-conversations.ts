/**
 * Counts conversations with a message of some kind on a day. There are dozens of such measures and many messages, so each
 * conversation is a number, and what measures have in common is computed once.
 */
import type { EpochSeconds } from '../time.ts'
import type { Role } from './conversation-history.ts'
import { type RollupDays, readingsWith } from './rollup-days.ts'
import { type Candidate, candidatesByCount } from './rollup-definitions.ts'
import { type RollupRows, spansOfFilter } from './rollup-events.ts'
import type { ActiveConversations, ConversationFilter, MessageKind } from './rollup-measures.ts'
import { createNumberCounter, type NumberPiece } from './rollup-pieces.ts'

export function createActiveConversations(
  rows: RollupRows,
  days: RollupDays,
): (measure: ActiveConversations) => Candidate[] {
  const conversations = [...rows.conversations.values()]
  const firstTimesWith = remember((kind: MessageKind) => firstTimes(kind, rows, days))
  const spansWith = remember((filter: ConversationFilter) => conversations.map((row) => spansOfFilter(filter, row)))
  return (measure) => {
    const spans = spansWith(measure.filter)
    const pieces = firstTimesWith(measure.with).map((times, piece) => {
      const readings = days.pieces[piece]
      const found = { numbers: [] as number[], timed: [] as NumberPiece['timed'][number][] }
      if (readings !== undefined) {
        for (const [number, at] of times)
          for (const span of spans[number] ?? []) {
            const shown = readingsWith(readings, at, span)
            if (shown === 'all') found.numbers.push(number)
            else if (shown === 'some') found.timed.push({ ...span, at, value: number })
          }
      }
      return found
    })
    return candidatesByCount(measure, days, createNumberCounter(pieces))
  }
}

function remember<Key, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  const known = new Map<Key, Result>()
  return (key) => {
    const result = known.get(key) ?? compute(key)
    known.set(key, result)
    return result
  }
}

/** By piece, and by number of the conversation: when it had the first message of that kind. */
function firstTimes(
  kind: MessageKind,
  { conversations, activeConversations }: RollupRows,
  days: RollupDays,
): ReadonlyMap<number, EpochSeconds>[] {
  const numbers = new Map([...conversations.keys()].map((id, number) => [id, number]))
  const pieces = days.pieces.map(() => new Map<number, EpochSeconds>())
  for (const { at, conversation, role } of activeConversations) {
    if (!isOfKind(role, kind)) continue
    const [number, piece] = [numbers.get(conversation), days.pieceOf(at)]
    const times = piece === null ? undefined : pieces[piece]
    if (number !== undefined && times !== undefined) times.set(number, Math.min(at, times.get(number) ?? at))
  }
  return pieces
}

function isOfKind(role: Role, kind: MessageKind): boolean {
  switch (kind) {
    case 'any message':
      return true
    case 'an utterance':
      return role !== 'event'
    case 'a visitor message':
      return role === 'visitor'
    case 'a human message':
      return role === 'human'
    case 'an AI message':
      return role === 'ai'
  }
}
