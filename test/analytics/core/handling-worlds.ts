/**
 * Conversations as they happen at a service, and what a mirror that reads them from time to time
 * knows of them.
 */
import { createCalendar } from '../../../src/analytics/core/calendar.ts'
import { deriveConversationFacts } from '../../../src/analytics/core/conversation-facts.ts'
import type {
  AuthorRole,
  HandledChange,
  HistoryMessage,
} from '../../../src/analytics/core/handlings.ts'

export const time = (text: string): number => Date.parse(`${text}Z`) / 1000

/** A message of a role, or what someone does to the flag, or a reading by the mirror. */
export type HandlingEvent = {
  readonly at: number
  readonly what: AuthorRole | 'handle' | 'reopen' | 'sync'
  /** A message that the first reading after it does not show. */
  readonly isLate?: boolean
}

/** `clockBehind`: how many seconds our clock is behind that of the service. */
type Service = {
  readonly visitorReopens: boolean
  readonly namesLastMessage?: boolean
  readonly clockBehind?: number
}

type Copy = {
  readonly handledAt: number | null
  readonly lastMessageAt: number | null
  readonly messages: readonly HistoryMessage[]
  readonly readAt: number
}
/** What the mirror stores after a sync. */
export type Mirrored = Copy & {
  readonly handledChanges: readonly HandledChange[]
  readonly syncedAt: number
}

/**
 * What the mirror stores after each sync. An unchanged copy keeps the time at which it was first
 * read.
 */
export function mirrorOf(events: readonly HandlingEvent[], service: Service): Mirrored[] {
  const { visitorReopens, namesLastMessage = false, clockBehind = 0 } = service
  const messages: HistoryMessage[] = []
  const late: HistoryMessage[] = []
  let handledAt: number | null = null
  let stored: Mirrored | null = null
  return events.flatMap(({ at, what, isLate = false }, id) => {
    if (what === 'sync') {
      const lastMessageAt = namesLastMessage ? lastTimeOf([...messages, ...late]) : null
      stored = afterReading(stored, {
        handledAt,
        lastMessageAt,
        messages: [...messages],
        readAt: at - clockBehind,
      })
      messages.push(...late.splice(0))
      return [stored]
    }
    if (what === 'handle') handledAt = at
    else if (what === 'reopen') handledAt = null
    else {
      const list = isLate ? late : messages
      list.push({ id, at, role: what, name: '' })
      if (what === 'human' || (what === 'visitor' && visitorReopens)) handledAt = null
    }
    return []
  })
}

const lastTimeOf = (messages: readonly HistoryMessage[]) =>
  messages.reduce<number | null>(
    (last, { at }) => (last === null || (at ?? last) > last ? at : last),
    null,
  )

function afterReading(stored: Mirrored | null, copy: Copy): Mirrored {
  const syncedAt = copy.readAt
  if (stored === null) return { ...copy, handledChanges: [], syncedAt }
  const { handledChanges } = stored
  if (stored.handledAt === copy.handledAt) {
    const isUnchanged = stored.messages.length === copy.messages.length
    return { ...copy, readAt: isUnchanged ? stored.readAt : syncedAt, handledChanges, syncedAt }
  }
  const change = {
    old: stored.handledAt,
    new: copy.handledAt,
    oldReadAt: stored.readAt,
    seenAt: syncedAt,
    oldLastMessageAt: stored.lastMessageAt,
    newLastMessageAt: copy.lastMessageAt,
  }
  return { ...copy, handledChanges: [...handledChanges, change], syncedAt }
}

const calendar = createCalendar({ timeZone: 'UTC', hours: null, holidays: {} })

/**
 * The facts of a conversation that was created with the first event, by a mirror that had begun
 * before.
 */
export function factsAfter(
  events: readonly HandlingEvent[],
  { handledAt, messages, handledChanges }: Mirrored,
) {
  const createdAt = events[0]?.at ?? 0
  const origin = { visitorId: null, origin: null, assignedAgentId: null, isMessagesComplete: true }
  const changes = { handledChanges, assignmentChanges: [] }
  const history = { id: 'c1', ...origin, createdAt, handledAt, messages, ...changes }
  return deriveConversationFacts(history, calendar, createdAt - 86_400)
}

type Facts = ReturnType<typeof factsAfter>

/** The numbers of a day: what began and ended on it, and what was so at its end. */
export function dayNumbers({ states, waits }: Facts, date: string) {
  const lasted = (from: string | null, to: string | null) =>
    from !== null && from <= date && (to === null || to > date)
  const began = (state: 'open' | 'handled') =>
    states.filter((row) => row.state === state && row.from_date === date && row.state_number > 1)
      .length
  return {
    reopenings: began('open'),
    handlings: began('handled'),
    waits: waits.filter(({ started_date }) => started_date === date).length,
    waitsEnded: waits
      .filter(({ ended_date }) => ended_date === date)
      .map(({ ended_by }) => ended_by),
    openAtEnd: states.filter(
      ({ state, from_date, to_date }) => state === 'open' && lasted(from_date, to_date),
    ).length,
    waitingAtEnd: waits.filter(({ open_from_date, ended_date }) =>
      lasted(open_from_date, ended_date),
    ).length,
  }
}
