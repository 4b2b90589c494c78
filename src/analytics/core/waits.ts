/**
 * The waits of a visitor, on two clocks: until the next answer by anyone, and until the next human one, however many AI
 * answers come before it. Each answer counts once on each clock. A handling that comes first ends both.
 */

import type { SpeakerRole } from '../../config/analytics-settings.ts'
import type { EpochSeconds } from '../../values/time.ts'
import { type Calendar, localTime } from './calendar.ts'
import { type HistoryMessage, handlingFrom, isHandledBetween, type TimedMessage } from './handlings.ts'

type Conversation = {
  readonly id: string
  readonly turns: readonly Turn[]
  readonly handlings: readonly EpochSeconds[]
  /** Rows of `fct_state`. */
  readonly states: readonly {
    readonly state: 'open' | 'handled'
    readonly from_at: EpochSeconds
    readonly to_at: EpochSeconds | null
  }[]
}

export type WaitRow = ReturnType<typeof deriveWaits>[number]

/** One row for each turn of the visitor. */
export function deriveWaits({ id, turns, handlings, states }: Conversation, calendar: Calendar) {
  const humanAnswers = humanAnswersOf(turns, handlings)
  let waits = 0
  return turns.flatMap((turn, index) => {
    if (turn.role !== 'visitor') return []
    const end = endOfWait(turn, turns[index + 1], handlings)
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

function endOfWait(turn: Turn, next: Turn | undefined, handlings: readonly EpochSeconds[]) {
  const handledAt = handlingFrom(handlings, turn.endedAt)
  if (next !== undefined && next.role !== 'visitor' && (handledAt === null || next.startedAt <= handledAt))
    return { by: next.role, at: next.startedAt, name: next.firstName, isAnswer: true }
  const by = handledAt === null ? ('nobody' as const) : ('handled' as const)
  return { by, at: handledAt, name: null, isAnswer: false }
}

/** From when on the conversation was open during the wait. Once open, it stays so until the wait ends. */
function openFromOf(states: Conversation['states'], startedAt: EpochSeconds, endedAt: EpochSeconds | null) {
  const open = states.find(({ state, to_at }) => state === 'open' && (to_at === null || to_at > startedAt))
  if (open === undefined) return null
  const from = Math.max(open.from_at, startedAt)
  return endedAt === null || from < endedAt ? from : null
}

/** `waitedSince`: since when the visitor waited for the human after the AI had last spoken. */
type HumanAnswer = { readonly turn: Turn; readonly aiAnswers: number; readonly waitedSince: EpochSeconds }

/** By the visitor's first turn since the human turn or the handling before. */
function humanAnswersOf(turns: readonly Turn[], handlings: readonly EpochSeconds[]): ReadonlyMap<Turn, HumanAnswer> {
  const answers = new Map<Turn, HumanAnswer>()
  let waiting: Turn | null = null
  let aiAnswers = 0
  let before: Turn | null = null
  for (const turn of turns) {
    if (waiting !== null && isHandledBetween(handlings, waiting.endedAt, turn.startedAt)) waiting = null
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
  const waitAfterAi = secondsOf(calendar, hasAi ? answer.waitedSince : turn.startedAt, hasAi ? at : null)
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
  return to === null ? { all: null, business: null } : { all: to - from, business: calendar.businessSeconds(from, to) }
}

/**
 * The turns of a conversation: runs of messages by the visitor, by humans or by the AI, in the order of time. A handling
 * between two messages of the visitor ends a turn.
 */
type Turn = {
  readonly role: SpeakerRole
  readonly startedAt: EpochSeconds
  readonly endedAt: EpochSeconds
  readonly messages: number
  /** The names on its first and last message. */
  readonly firstName: string
  readonly lastName: string
}

/** Messages without a time are left out; of those of one second, the lower id is the earlier one. */
export function messagesInOrder(messages: readonly HistoryMessage[]): readonly TimedMessage[] {
  const timed = messages.filter((message): message is TimedMessage => message.at !== null)
  return timed.toSorted((a, b) => a.at - b.at || a.id - b.id)
}

/** `messages`: in order. Events and utterances of unknown senders neither make nor end a turn. */
export function turnsOf(messages: readonly TimedMessage[], handlings: readonly EpochSeconds[]): readonly Turn[] {
  const turns: { -readonly [Key in keyof Turn]: Turn[Key] }[] = []
  for (const { at, role, name } of messages) {
    if (role === 'event' || role === 'other') continue
    const last = turns.at(-1)
    if (last?.role === role && !(role === 'visitor' && isHandledBetween(handlings, last.endedAt, at))) {
      last.endedAt = at
      last.lastName = name
      last.messages++
    } else {
      turns.push({ role, startedAt: at, endedAt: at, messages: 1, firstName: name, lastName: name })
    }
  }
  return turns
}
