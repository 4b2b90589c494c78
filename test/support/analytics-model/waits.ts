/** The model of fct_wait: follows a conversation turn by turn, with one clock for any answer and one for human answers. */
import type { ModelConversation, TimedMessage } from './conversation.ts'
import type { LocalClock } from './local-clock.ts'
import { toTime } from './raw-rows.ts'

/** Consecutive utterances of one role. */
export type Turn = {
  readonly role: TimedMessage['role']
  readonly startedAt: number
  readonly lastAt: number
  /** The name on its first message. */
  readonly name: string
  readonly messages: number
}

export type Wait = {
  readonly number: number
  readonly startedAt: number
  readonly messages: number
  /** The visitor's messages were followed by a turn, or the conversation was handled, or neither. */
  readonly endedBy: 'human' | 'ai' | 'handled' | 'nobody'
  readonly endedAt: number | null
  readonly endedByName: string | null
  /** Only on the first wait since the previous human turn. */
  readonly humanAnswer: HumanAnswer | null
}

type HumanAnswer = {
  readonly at: number
  readonly name: string
  readonly aiAnswers: number
  /** When the visitor was last left without an answer of a human by the AI; null = the AI said nothing. */
  readonly afterAiFrom: number | null
}

export function turnsOf({ utterances }: ModelConversation): Turn[] {
  const turns: Turn[] = []
  for (const { role, at, name } of utterances) {
    const previous = turns.at(-1)
    if (previous?.role !== role) turns.push({ role, startedAt: at, lastAt: at, name, messages: 1 })
    else turns[turns.length - 1] = { ...previous, lastAt: at, messages: previous.messages + 1 }
  }
  return turns
}

export function waitsOf(conversation: ModelConversation): Wait[] {
  const turns = turnsOf(conversation)
  const waits: Wait[] = []
  turns.forEach((turn, index) => {
    if (turn.role !== 'visitor') return
    const isFirstSinceHuman = previousSpeaker(turns, index, ['visitor', 'human'])?.role !== 'visitor'
    waits.push({
      number: waits.length + 1,
      startedAt: turn.startedAt,
      messages: turn.messages,
      ...endOfWait(turn, turns[index + 1], conversation.handledAt),
      humanAnswer: isFirstSinceHuman ? findHumanAnswer(turns, index) : null,
    })
  })
  return waits
}

function previousSpeaker(turns: readonly Turn[], before: number, roles: readonly string[]): Turn | undefined {
  return turns.slice(0, before).findLast(({ role }) => roles.includes(role))
}

function endOfWait(turn: Turn, next: Turn | undefined, handledAt: number | null) {
  if (next !== undefined) {
    return { endedBy: next.role === 'ai' ? 'ai' : 'human', endedAt: next.startedAt, endedByName: next.name } as const
  }
  if (handledAt !== null && handledAt >= turn.startedAt)
    return { endedBy: 'handled', endedAt: handledAt, endedByName: null } as const
  return { endedBy: 'nobody', endedAt: null, endedByName: null } as const
}

function findHumanAnswer(turns: readonly Turn[], from: number): HumanAnswer | null {
  const later = turns.slice(from)
  const humanIndex = later.findIndex(({ role }) => role === 'human')
  const human = later[humanIndex]
  const before = later[humanIndex - 1]
  if (human === undefined || before === undefined) return null
  // Between the visitor's first turn and the human, visitor and AI alternate, so every AI turn answers the visitor.
  const aiAnswers = later.slice(0, humanIndex).filter(({ role }) => role === 'ai').length
  const heardFrom = before.role === 'ai' ? before.lastAt : before.startedAt
  return { at: human.startedAt, name: human.name, aiAnswers, afterAiFrom: aiAnswers === 0 ? null : heardFrom }
}

export function toWaitRow(wait: Wait, clock: LocalClock) {
  const { startedAt, endedAt, humanAnswer } = wait
  const answeredAt = wait.endedBy === 'human' || wait.endedBy === 'ai' ? endedAt : null
  const humanAt = humanAnswer?.at ?? null
  const afterAiFrom = humanAnswer?.afterAiFrom ?? null
  return {
    wait_number: wait.number,
    started_at: toTime(startedAt),
    started_date: clock.localTime(startedAt).date,
    started_hour: clock.localTime(startedAt).hour,
    messages: wait.messages,
    ended_by: wait.endedBy,
    ended_at: endedAt === null ? null : toTime(endedAt),
    ended_date: clock.date(endedAt),
    ended_hour: clock.hour(endedAt),
    ended_by_name: wait.endedByName,
    answer_seconds: answeredAt === null ? null : answeredAt - startedAt,
    answer_business_seconds: clock.businessSeconds(startedAt, answeredAt),
    human_answered_at: humanAt === null ? null : toTime(humanAt),
    human_answered_date: clock.date(humanAt),
    human_answered_hour: clock.hour(humanAt),
    human_name: humanAnswer?.name ?? null,
    human_seconds: humanAt === null ? null : humanAt - startedAt,
    human_business_seconds: clock.businessSeconds(startedAt, humanAt),
    ai_answers: humanAnswer?.aiAnswers ?? null,
    after_ai_seconds: humanAt === null || afterAiFrom === null ? null : humanAt - afterAiFrom,
    after_ai_business_seconds: clock.businessSeconds(afterAiFrom, humanAt),
  }
}

export type WaitRow = ReturnType<typeof toWaitRow>
