/**
 * The waits of a visitor, on two clocks: until the next answer by anyone, and until the next human one, however many AI
 * answers come before it. Each answer counts once on each clock.
 */
import type { EpochSeconds, Seconds } from '../time.ts'
import type { Calendar } from './calendar.ts'
import type { WaitRow } from './fact-rows.ts'
import type { Turn } from './turns.ts'

type Conversation = { readonly id: string; readonly handledAt: EpochSeconds | null }

/** One row for each turn of the visitor. */
export function deriveWaits(conversation: Conversation, turns: readonly Turn[], calendar: Calendar): WaitRow[] {
  const humanAnswers = humanAnswersOf(turns)
  const rows: WaitRow[] = []
  for (const [index, turn] of turns.entries()) {
    if (turn.role !== 'visitor') continue
    const end = endOfWait(turn, turns[index + 1], conversation.handledAt)
    const answerSeconds = secondsOf(calendar, turn.startedAt, end.isAnswer ? end.at : null)
    rows.push({
      conversation_id: conversation.id,
      wait_number: rows.length + 1,
      started_at: turn.startedAt,
      started_date: calendar.dateOf(turn.startedAt),
      started_hour: calendar.hourOf(turn.startedAt),
      messages: turn.messages,
      ended_by: end.by,
      ended_at: end.at,
      ended_date: end.at === null ? null : calendar.dateOf(end.at),
      ended_hour: end.at === null ? null : calendar.hourOf(end.at),
      ended_by_name: end.name,
      answer_seconds: answerSeconds.all,
      answer_business_seconds: answerSeconds.business,
      ...humanColumns(turn, humanAnswers.get(turn), calendar),
    })
  }
  return rows
}

type EndOfWait = Readonly<Record<'by', WaitRow['ended_by']>> & {
  readonly at: EpochSeconds | null
  readonly name: string | null
  readonly isAnswer: boolean
}

function endOfWait(turn: Turn, next: Turn | undefined, handledAt: EpochSeconds | null): EndOfWait {
  if (next !== undefined && next.role !== 'visitor') {
    return { by: next.role, at: next.startedAt, name: next.firstName, isAnswer: true }
  }
  const isHandled = handledAt !== null && handledAt >= turn.startedAt
  return { by: isHandled ? 'handled' : 'nobody', at: isHandled ? handledAt : null, name: null, isAnswer: false }
}

type HumanAnswer = {
  readonly turn: Turn
  readonly aiAnswers: number
  /** Since when the visitor waited for the human after the AI had last spoken. */
  readonly waitedSince: EpochSeconds
}

/** By the visitor's first turn since the human turn before. */
function humanAnswersOf(turns: readonly Turn[]): ReadonlyMap<Turn, HumanAnswer> {
  const answers = new Map<Turn, HumanAnswer>()
  let waiting: Turn | null = null
  let aiAnswers = 0
  let before: Turn | null = null
  for (const turn of turns) {
    if (turn.role === 'visitor' && waiting === null) {
      waiting = turn
      aiAnswers = 0
    }
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

type HumanColumns = Pick<
  WaitRow,
  | 'human_answered_at'
  | 'human_answered_date'
  | 'human_answered_hour'
  | 'human_name'
  | 'human_seconds'
  | 'human_business_seconds'
  | 'ai_answers'
  | 'after_ai_seconds'
  | 'after_ai_business_seconds'
>

const noHumanAnswer: HumanColumns = {
  human_answered_at: null,
  human_answered_date: null,
  human_answered_hour: null,
  human_name: null,
  human_seconds: null,
  human_business_seconds: null,
  ai_answers: null,
  after_ai_seconds: null,
  after_ai_business_seconds: null,
}

function humanColumns(turn: Turn, answer: HumanAnswer | undefined, calendar: Calendar): HumanColumns {
  if (answer === undefined) return noHumanAnswer
  const answeredAt = answer.turn.startedAt
  const wait = secondsOf(calendar, turn.startedAt, answeredAt)
  const waitAfterAi = secondsOf(calendar, answer.waitedSince, answer.aiAnswers > 0 ? answeredAt : null)
  return {
    human_answered_at: answeredAt,
    human_answered_date: calendar.dateOf(answeredAt),
    human_answered_hour: calendar.hourOf(answeredAt),
    human_name: answer.turn.firstName,
    human_seconds: wait.all,
    human_business_seconds: wait.business,
    ai_answers: answer.aiAnswers,
    after_ai_seconds: waitAfterAi.all,
    after_ai_business_seconds: waitAfterAi.business,
  }
}

type Duration = { readonly all: Seconds | null; readonly business: Seconds | null }
const unknownDuration: Duration = { all: null, business: null }

function secondsOf(calendar: Calendar, from: EpochSeconds, to: EpochSeconds | null): Duration {
  return to === null ? unknownDuration : { all: to - from, business: calendar.businessSeconds(from, to) }
}
