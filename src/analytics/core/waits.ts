/**
 * The waits of a visitor: until the next answer by anyone, and until the next human one. Each
 * answer counts once on each clock. A handling that comes first ends both; who was never answered
 * waits again when the flag is taken back.
 */

import type { SpeakerRole } from '../../config/analytics-settings.ts'
import type { EpochSeconds } from '../../values/time.ts'
import { type Calendar, localTime } from './calendar.ts'
import {
  type HistoryMessage,
  handlingFrom,
  type Reopening,
  type TimedMessage,
} from './handlings.ts'

type Conversation = {
  readonly id: string
  /** With those that begin at reopenings. */
  readonly turns: readonly Turn[]
  /** Rows of `fct_state`. */
  readonly states: readonly {
    readonly state: 'open' | 'handled'
    readonly from_at: EpochSeconds
    readonly to_at: EpochSeconds | null
  }[]
}

/** One row for each turn of the visitor. */
export function deriveWaits({ id, turns, states }: Conversation, calendar: Calendar) {
  const humanAnswers = humanAnswersOf(turns)
  let waits = 0
  return turns.flatMap((turn, index) => {
    if (turn.role !== 'visitor') return []
    const end = endOfWait(turn, turns[index + 1])
    const openFrom = localTime(calendar, openFromOf(states, turn.startedAt, end.at))
    const ended = localTime(calendar, end.at)
    const answer = secondsOf(calendar, turn.startedAt, end.isAnswer ? end.at : null)
    return [
      {
        conversation_id: id,
        wait_number: ++waits,
        started_at: turn.startedAt,
        started_date: calendar.dateOf(turn.startedAt),
        started_hour: calendar.hourOf(turn.startedAt),
        open_from_date: openFrom.date,
        open_from_hour: openFrom.hour,
        messages: turn.messages,
        ended_by: end.by,
        ended_at: end.at,
        ended_date: ended.date,
        ended_hour: ended.hour,
        ended_by_name: end.name,
        answer_seconds: answer.all,
        answer_business_seconds: answer.business,
        ...humanColumns(turn, humanAnswers.get(turn), calendar),
      },
    ]
  })
}

function endOfWait({ handledAt }: Turn, next: Turn | undefined) {
  if (
    next !== undefined &&
    next.role !== 'visitor' &&
    (handledAt === null || next.startedAt <= handledAt)
  )
    return { by: next.role, at: next.startedAt, name: next.firstName, isAnswer: true }
  const by = handledAt === null ? ('nobody' as const) : ('handled' as const)
  return { by, at: handledAt, name: null, isAnswer: false }
}

/**
 * Once open, it stays so until the wait ends. Times are whole seconds: a visitor who wrote at
 * 10:00:07 and was marked handled at 10:00:07 waited first, as a message comes before a handling of
 * its second.
 */
function openFromOf(
  states: Conversation['states'],
  startedAt: EpochSeconds,
  endedAt: EpochSeconds | null,
) {
  const endsInFirstSecond = endedAt === startedAt
  const isAtStart = (to: EpochSeconds) => (endsInFirstSecond ? to >= startedAt : to > startedAt)
  const open = states.find(
    ({ state, to_at }) => state === 'open' && (to_at === null || isAtStart(to_at)),
  )
  if (open === undefined) return null
  const from = Math.max(open.from_at, startedAt)
  return endedAt === null || from < endedAt || (endsInFirstSecond && from === startedAt)
    ? from
    : null
}

/** `waitedSince`: since when the visitor waited for the human after the AI had last spoken. */
type HumanAnswer = {
  readonly turn: Turn
  readonly aiAnswers: number
  readonly waitedSince: EpochSeconds
}

/**
 * The answers by the turn from which the visitor waited for each: their first turn after the last
 * human turn or handling.
 */
function humanAnswersOf(turns: readonly Turn[]): ReadonlyMap<Turn, HumanAnswer> {
  const answers = new Map<Turn, HumanAnswer>()
  let waiting: Turn | null = null
  let aiAnswers = 0
  let before: Turn | null = null
  for (const turn of turns) {
    if (waiting !== null && (turn.isReopened || isHandledBefore(waiting, turn.startedAt)))
      waiting = null
    if (turn.role === 'visitor' && waiting === null) [waiting, aiAnswers] = [turn, 0]
    if (turn.role === 'ai') aiAnswers++
    if (turn.role === 'human' && waiting !== null && before !== null) {
      const waitedSince = before.role === 'ai' ? before.endedAt : before.startedAt
      answers.set(waiting, { turn, aiAnswers, waitedSince })
      waiting = null
    }
    before = turn
  }
  return answers
}

function humanColumns(turn: Turn, answer: HumanAnswer | undefined, calendar: Calendar) {
  const at = answer?.turn.startedAt ?? null
  const answered = localTime(calendar, at)
  const wait = secondsOf(calendar, turn.startedAt, at)
  const hasAi = answer !== undefined && answer.aiAnswers > 0
  const waitAfterAi = secondsOf(
    calendar,
    hasAi ? answer.waitedSince : turn.startedAt,
    hasAi ? at : null,
  )
  return {
    human_answered_at: at,
    human_answered_date: answered.date,
    human_answered_hour: answered.hour,
    human_name: answer?.turn.firstName ?? null,
    human_seconds: wait.all,
    human_business_seconds: wait.business,
    ai_answers: answer?.aiAnswers ?? null,
    after_ai_seconds: waitAfterAi.all,
    after_ai_business_seconds: waitAfterAi.business,
  }
}

function secondsOf(calendar: Calendar, from: EpochSeconds, to: EpochSeconds | null) {
  return to === null
    ? { all: null, business: null }
    : { all: to - from, business: calendar.businessSeconds(from, to) }
}

/** Runs of messages by the visitor, by humans or by the AI. A handling in between ends a turn. */
type Turn = {
  readonly role: SpeakerRole
  readonly startedAt: EpochSeconds
  readonly endedAt: EpochSeconds
  readonly messages: number
  /** It began with a reopening: messages of the visitor may follow, or none. */
  readonly isReopened: boolean
  /** The names on its first and last message. */
  readonly firstName: string
  readonly lastName: string
  /** The first handling after its last message, or after the reopening that it began with. */
  readonly handledAt: EpochSeconds | null
}

/** Without those that have no time; of one second, the lower id is the earlier one. */
export function messagesInOrder(messages: readonly HistoryMessage[]): readonly TimedMessage[] {
  const timed = messages.filter((message): message is TimedMessage => message.at !== null)
  return timed.toSorted((a, b) => a.at - b.at || a.id - b.id)
}

/**
 * `reopenings`: by the flag alone. A visitor whose last turn a handling had ended waits again from
 * such a reopening on, in a turn of its own.
 */
export function turnsOf(
  messages: readonly TimedMessage[],
  handlings: readonly EpochSeconds[],
  reopenings: readonly Reopening[] = [],
): readonly Turn[] {
  const turns: { -readonly [Key in keyof Turn]: Turn[Key] }[] = []
  const reopen = ({ at, handledAt }: Reopening) => {
    const last = turns.at(-1)
    if (last?.role !== 'visitor' || last.handledAt === null || last.handledAt > at) return
    // It was only seen open in the very second of the next handling.
    if (handledAt === at) return
    const { lastName: name } = last
    turns.push({
      ...last,
      startedAt: at,
      endedAt: at,
      messages: 0,
      isReopened: true,
      firstName: name,
      handledAt,
    })
  }
  const left = [...reopenings]
  for (const message of messages.filter(
    (one): one is TimedMessage & { readonly role: SpeakerRole } =>
      one.role !== 'event' && one.role !== 'other',
  )) {
    const { at, role, name } = message
    // A message comes before the reopening that was seen in its second.
    for (; left[0] !== undefined && left[0].at < at; left.shift()) reopen(left[0])
    const last = turns.at(-1)
    const handledAt = handlingFrom(handlings, at)
    if (last?.role === role && !(role === 'visitor' && isHandledBefore(last, at))) {
      last.endedAt = at
      last.lastName = name
      last.messages++
      last.handledAt = handledAt
    } else {
      turns.push({
        role,
        startedAt: at,
        endedAt: at,
        messages: 1,
        isReopened: false,
        firstName: name,
        lastName: name,
        handledAt,
      })
    }
  }
  left.forEach(reopen)
  return turns
}

/** Whether what is of that time was written after a handling that came after the turn. */
function isHandledBefore({ handledAt }: Turn, at: EpochSeconds): boolean {
  return handledAt !== null && handledAt < at
}
