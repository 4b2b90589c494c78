/** The days in which a reading counts a conversation: by each of its times, and by each kind of its messages. */
import type { EpochSeconds } from '../time.ts'
import type { Role } from './conversation-history.ts'
import type { RollupConversation } from './rollup-conversation-filter.ts'
import type { RollupDays } from './rollup-days.ts'
import { type ConversationTime, conversationTimes, type MessageKind, messageKinds } from './rollup-measures.ts'

/** Since when until when it was handled; null = it is. */
export type Handling = { readonly at: EpochSeconds; readonly until: EpochSeconds | null }

/** Numbers of columns: times of conversations, then kinds of messages. */
export const columns: ReadonlyMap<ConversationTime | MessageKind, number> = new Map(
  [...conversationTimes, ...messageKinds].map((name, column) => [name, column]),
)
const columnOf = (name: ConversationTime | MessageKind) => columns.get(name) ?? 0

/** In which columns of which days the conversation is. The lists are used again for the next conversation. */
export type ShownDays = { readonly columns: number[]; readonly days: number[] }

export type ConversationDays = {
  readonly addMessages: (role: Role, times: readonly EpochSeconds[]) => void
  /** Of the conversation whose messages were added since the last call. */
  readonly takeDays: (row: RollupConversation, handlings: readonly Handling[]) => ShownDays
}

export function createConversationDays({ days, daysAt }: RollupDays): ConversationDays {
  const readAt = Float64Array.from(days, (day) => day.readAt)
  const lastMessages = createLastMessages(readAt)
  /** By day: the kinds of messages that the reading shows, as bits. */
  const kinds = new Int32Array(days.length)
  const active: number[] = []
  const shown: ShownDays = { columns: [], days: [] }
  const show = (column: number, day: number) => {
    shown.columns.push(column)
    shown.days.push(day)
  }
  const showActive = (day: number) => {
    const at = lastMessages.lastAt(day)
    const { from, to } = days[day] ?? { from: 0, to: 0 }
    if (at >= from && at < to) show(columnOf('last message'), day)
    for (const [bit, column] of kindColumns.entries()) if (((kinds[day] ?? 0) >> bit) & 1) show(column, day)
    kinds[day] = 0
  }
  const showTime = (name: ConversationTime, at: EpochSeconds | null, until: EpochSeconds | null = null) => {
    if (at === null) return
    for (const day of daysAt(at)) {
      const read = readAt[day] ?? 0
      if (at <= read && (until === null || read < until)) show(columnOf(name), day)
    }
  }
  return {
    addMessages: (role, times) => {
      const added = kindsOf[role]
      // Most messages follow one that is in the same days.
      let known: Int32Array | null = null
      for (const at of times) {
        lastMessages.add(at)
        const found = daysAt(at)
        if (found === known) continue
        known = found
        for (const day of found) {
          if (at > (readAt[day] ?? 0)) known = null
          else {
            if (kinds[day] === 0) active.push(day)
            kinds[day] = (kinds[day] ?? 0) | added
          }
        }
      }
    },
    takeDays: (row, handlings) => {
      shown.columns.length = 0
      shown.days.length = 0
      lastMessages.finish()
      for (const day of active) showActive(day)
      active.length = 0
      lastMessages.clear()
      showTime('creation', row.createdAt)
      showTime('first visitor message', row.firstVisitorAt)
      showTime('first human message', row.firstHumanAt)
      for (const { at, until } of handlings) showTime('handling', at, until)
      return shown
    },
  }
}

const kindColumns = messageKinds.map(columnOf)

const rolesOf: Readonly<Record<MessageKind, (role: Role) => boolean>> = {
  'any message': () => true,
  'an utterance': (role) => role !== 'event',
  'a visitor message': (role) => role === 'visitor',
  'a human message': (role) => role === 'human',
  'an AI message': (role) => role === 'ai',
}
const toBits = (role: Role) => messageKinds.reduce((bits, kind, bit) => bits | (rolesOf[kind](role) ? 1 << bit : 0), 0)
/** The kinds that a message of the role is, as bits. */
const kindsOf: Readonly<Record<Role, number>> = {
  visitor: toBits('visitor'),
  human: toBits('human'),
  ai: toBits('ai'),
  other: toBits('other'),
  event: toBits('event'),
}

/** The last message that each reading shows. `readAt`: by day. */
function createLastMessages(readAt: Float64Array) {
  const readings = [...new Set(readAt)].sort((a, b) => a - b)
  const readingOf = new Map(readings.map((at, reading) => [at, reading]))
  const readingOfDay = Int32Array.from(readAt, (at) => readingOf.get(at) ?? 0)
  /** By reading: the last one since the reading before; once finished, the last one. */
  const last = new Float64Array(readings.length).fill(Number.NEGATIVE_INFINITY)
  return {
    add: (at: EpochSeconds) => {
      const reading = firstNotBefore(readings, at)
      if (at > (last[reading] ?? Number.POSITIVE_INFINITY)) last[reading] = at
    },
    finish: () => {
      for (let n = 1; n < last.length; n++) last[n] = Math.max(last[n] ?? 0, last[n - 1] ?? 0)
    },
    lastAt: (day: number) => last[readingOfDay[day] ?? 0] ?? 0,
    clear: () => last.fill(Number.NEGATIVE_INFINITY),
  }
}

/** The index of the first of these times, in order, that is not before `at`. */
function firstNotBefore(times: readonly EpochSeconds[], at: EpochSeconds): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < at) low = middle + 1
    else high = middle
  }
  return low
}
