/**
 * The model of fct_state: the spans in which a conversation was open or handled, as far as anybody
 * saw.
 */
import type { ModelConversation } from './conversation.ts'
import type { LocalClock } from './local-clock.ts'
import { seconds, toTime } from './raw-rows.ts'

export type StateSpan = {
  readonly state: 'open' | 'handled'
  readonly beganBy: 'created' | 'service' | 'message' | 'seen'
  readonly from: number
  readonly to: number | null
}

/**
 * Alternates between open and handled, beginning with open. Empty if nobody knows when the
 * conversation began.
 */
export function statesOf(conversation: ModelConversation, mirroredSince: number): StateSpan[] {
  const { createdAt } = conversation
  if (createdAt === null) return []
  const turns = flagTurns(conversation, mirroredSince).filter(({ isRepeated }) => !isRepeated)
  const from = Math.min(createdAt, turns[0]?.at ?? createdAt)
  const began = [{ state: 'open', by: 'created', at: from } as const, ...turns]
  return began.map(({ state, by, at }, index) => ({
    state,
    beganBy: by,
    from: at,
    to: began[index + 1]?.at ?? null,
  }))
}

/** Every handling that anybody can know of, also those of handled conversations. */
export function handlingsOf(conversation: ModelConversation, mirroredSince: number): number[] {
  const handled = flagTurns(conversation, mirroredSince).filter(({ state }) => state === 'handled')
  return [...new Set(handled.map(({ at }) => at))].sort((a, b) => a - b)
}

/**
 * When the flag alone was taken back, as a reading saw it, and when it was set again after that
 * (null: never).
 */
export function seenReopenings(conversation: ModelConversation, mirroredSince: number) {
  const turns = flagTurns(conversation, mirroredSince).filter(({ isRepeated }) => !isRepeated)
  return turns.flatMap(({ state, by, at }, index) =>
    state === 'open' && by === 'seen' ? [{ at, closedAt: turns[index + 1]?.at ?? null }] : [],
  )
}

type FlagTurn = {
  readonly state: StateSpan['state']
  readonly by: StateSpan['beganBy']
  readonly at: number
  /** Handled once more. */
  readonly isRepeated: boolean
}

/**
 * What the mirror read of the flag, and the last moment at which it may have read what was there
 * before; and the last messages that it read of then and before, if the service names them. These
 * are times of the service, like those of messages, and the others are our own.
 */
type Reading = {
  readonly handledAt: number | null
  readonly after: number
  readonly at: number
  readonly lastMessageBefore: number | null
  readonly lastMessageAfter: number | null
}

/** Whether someone may have written it after the reading before, and before this one. */
function isWrittenBetween(at: number, reading: Reading): boolean {
  const { lastMessageBefore, lastMessageAfter } = reading
  const wasThereBefore = lastMessageBefore === null ? at <= reading.after : at <= lastMessageBefore
  const isThere = lastMessageAfter === null ? at <= reading.at : at <= lastMessageAfter
  return isThere && !wasThereBefore
}

/** What must have happened to the flag from each reading to the next. */
function flagTurns(
  { timed, handledAt, handledChanges }: ModelConversation,
  mirroredSince: number,
): FlagTurn[] {
  const times = handledChanges.map(
    ({ old_value, new_value, old_read_at, seen_at, ...lastMessages }) => ({
      lastMessageBefore: lastMessages.lastMessageBefore,
      lastMessageAfter: lastMessages.lastMessageAfter,
      old: old_value === null ? null : seconds(old_value),
      handledAt: new_value === null ? null : seconds(new_value),
      after: seconds(old_read_at),
      at: seconds(seen_at),
    }),
  )
  const begin = Math.min(mirroredSince, times[0]?.at ?? mirroredSince)
  const first = times[0] === undefined ? handledAt : times[0].old
  const readings: Reading[] = [
    { handledAt: first, after: begin, at: begin, lastMessageBefore: null, lastMessageAfter: null },
    ...times.map((reading, index) => {
      const known = Math.max(reading.after, index === 0 ? begin : (times[index - 1]?.at ?? 0))
      return { ...reading, after: Math.min(known, reading.at) }
    }),
  ]
  let turns: FlagTurn[] = []
  let before: number | null = null
  for (const reading of readings) {
    if (reading.handledAt === before) continue
    if (before !== null) turns = turns.concat(reopening(turns, reading, timed))
    if (reading.handledAt !== null) turns = handle(turns, reading.handledAt, reading.at)
    before = reading.handledAt
  }
  return turns
}

const latestHandling = (turns: readonly FlagTurn[]) =>
  Math.max(...turns.filter(({ state }) => state === 'handled').map(({ at }) => at))

/**
 * Whoever spoke first within the readings reopened it (a system event did not); if it was seen
 * open, it was reopened in any case.
 */
function reopening(
  turns: readonly FlagTurn[],
  reading: Reading,
  timed: ModelConversation['timed'],
): FlagTurn[] {
  const handled = latestHandling(turns)
  const nextHandling = reading.handledAt ?? Number.POSITIVE_INFINITY
  const [first] = timed.filter(
    ({ at, role }) =>
      role !== 'event' && at > handled && at <= nextHandling && isWrittenBetween(at, reading),
  )
  if (first !== undefined)
    return [{ state: 'open', by: 'message', at: first.at, isRepeated: false }]
  if (reading.handledAt !== null) return []
  return [{ state: 'open', by: 'seen', at: Math.max(reading.at, handled), isRepeated: false }]
}

/**
 * A time that is not later than handlings before the reopening cannot be that of the new handling.
 */
function handle(turns: readonly FlagTurn[], handledAt: number, seenAt: number): FlagTurn[] {
  const opened = turns.at(-1)
  const isRepeated = opened?.state === 'handled'
  if (isRepeated || opened === undefined)
    return [...turns, { state: 'handled', by: 'service', at: handledAt, isRepeated }]
  if (handledAt <= latestHandling(turns))
    return [...turns, { state: 'handled', by: 'seen', at: Math.max(seenAt, opened.at), isRepeated }]
  const reopened: FlagTurn =
    opened.at > handledAt ? { ...opened, by: 'seen', at: handledAt } : opened
  return [
    ...turns.slice(0, -1),
    reopened,
    { state: 'handled', by: 'service', at: handledAt, isRepeated },
  ]
}

export function toStateRow(span: StateSpan, number: number, clock: LocalClock) {
  return {
    state_number: number,
    state: span.state,
    from_at: toTime(span.from),
    from_date: clock.localTime(span.from).date,
    from_hour: clock.localTime(span.from).hour,
    began_by: span.beganBy,
    to_at: span.to === null ? null : toTime(span.to),
    to_date: clock.date(span.to),
    seconds: span.to === null ? null : span.to - span.from,
    business_seconds: clock.businessSeconds(span.from, span.to),
  }
}

export type StateRow = ReturnType<typeof toStateRow>
