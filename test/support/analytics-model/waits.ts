/**
 * The model of fct_wait: which messages of the visitor belong together, and for each such run which
 * utterance or handling came first after it, with one clock for any answer and one for human
 * answers.
 */
import type { ModelConversation, TimedModelMessage } from './conversation.ts'
import type { LocalClock } from './local-clock.ts'
import { toTime } from './raw-rows.ts'
import { handlingsOf, seenReopenings, statesOf } from './states.ts'

export type Wait = {
  readonly number: number
  readonly startedAt: number
  /** The conversation was open from then on while the visitor waited; null = it was handled. */
  readonly openFrom: number | null
  readonly messages: number
  /** Who wrote next, or that the conversation was handled before that; nobody = neither. */
  readonly endedBy: 'human' | 'ai' | 'handled' | 'nobody'
  readonly endedAt: number | null
  readonly endedByName: string | null
  /** Only on the first wait since the previous human message or handling. */
  readonly humanAnswer: HumanAnswer | null
}

type HumanAnswer = {
  readonly at: number
  readonly name: string
  readonly aiAnswers: number
  /**
   * When the visitor was last left without an answer of a human by the AI; null = the AI said
   * nothing.
   */
  readonly afterAiFrom: number | null
}

/** How many runs of messages there are of that role. */
export function countTurns(
  { utterances }: ModelConversation,
  role: TimedModelMessage['role'],
): number {
  return utterances.filter(
    (message, index) => message.role === role && utterances[index - 1]?.role !== role,
  ).length
}

/**
 * Messages of the visitor, by their places among the utterances. One that begins with a reopening
 * may have none: `to` is then the place before `from`.
 */
type Run = {
  readonly from: number
  readonly to: number
  readonly startedAt: number
  readonly isReopened: boolean
  /** The first handling after it. */
  readonly handledAt: number | undefined
}

export function waitsOf(conversation: ModelConversation, mirroredSince: number): Wait[] {
  const { utterances } = conversation
  const at = (index: number) => utterances[index]?.at ?? Number.NaN
  const runs = runsOf(conversation, mirroredSince)
  return runs.map((run, number) => {
    const isHandledBy = (of: Run, time: number) => of.handledAt !== undefined && of.handledAt < time
    const human = utterances.findIndex(({ role }, index) => index > run.to && role === 'human')
    const previous = runs[number - 1]
    const isContinued =
      previous !== undefined &&
      !run.isReopened &&
      !isHandledBy(previous, run.startedAt) &&
      !utterances.slice(previous.to, run.from).some(({ role }) => role === 'human')
    const isAnsweredByHuman = human >= 0 && !isContinued && !isHandledBy(run, at(human))
    const end = endOfWait(utterances[run.to + 1], run.handledAt)
    return {
      number: number + 1,
      startedAt: run.startedAt,
      openFrom: openFrom(conversation, mirroredSince, run.startedAt, end.endedAt),
      messages: run.to - run.from + 1,
      ...end,
      humanAnswer: isAnsweredByHuman ? describeAnswer(utterances, run, human) : null,
    }
  })
}

function runsOf(conversation: ModelConversation, mirroredSince: number): Run[] {
  const { utterances } = conversation
  const handlings = handlingsOf(conversation, mirroredSince)
  const at = (index: number) => utterances[index]?.at ?? Number.NaN
  const handlingFrom = (time: number) => handlings.find((handling) => handling >= time)
  const isHandledBetween = (before: number, after: number) =>
    handlings.some((handling) => handling >= at(before) && handling < at(after))
  let runs: Run[] = []
  for (const [index, { role }] of utterances.entries()) {
    if (role !== 'visitor') continue
    const last = runs.at(-1)
    const handledAt = handlingFrom(at(index))
    if (last?.to === index - 1 && !isHandledBetween(index - 1, index))
      runs[runs.length - 1] = { ...last, to: index, handledAt }
    else runs.push({ from: index, to: index, startedAt: at(index), isReopened: false, handledAt })
  }
  // Whoever got no answer, and is in an open conversation again, waits again.
  for (const { at: reopenedAt, closedAt } of seenReopenings(conversation, mirroredSince)) {
    const next = utterances.filter((utterance) => utterance.at <= reopenedAt).length
    const asked = handlingFrom(at(next - 1))
    const isUnanswered =
      utterances[next - 1]?.role === 'visitor' && asked !== undefined && asked <= reopenedAt
    if (!isUnanswered || closedAt === reopenedAt) continue
    const reopened = { from: next, startedAt: reopenedAt, isReopened: true }
    const goesOn = closedAt === null || closedAt >= at(next)
    const following = runs.find(({ from, isReopened }) => from === next && !isReopened)
    const run =
      goesOn && following !== undefined
        ? { ...following, ...reopened }
        : { ...reopened, to: next - 1, handledAt: closedAt ?? undefined }
    runs = [...runs.filter((other) => !(goesOn && other === following)), run]
  }
  return runs.sort((a, b) => a.startedAt - b.startedAt || a.from - b.from)
}

function endOfWait(next: TimedModelMessage | undefined, handledAt: number | undefined) {
  if (
    next !== undefined &&
    next.role !== 'visitor' &&
    !(handledAt !== undefined && handledAt < next.at)
  )
    return {
      endedBy: next.role === 'ai' ? 'ai' : 'human',
      endedAt: next.at,
      endedByName: next.name,
    } as const
  if (handledAt !== undefined)
    return { endedBy: 'handled', endedAt: handledAt, endedByName: null } as const
  return { endedBy: 'nobody', endedAt: null, endedByName: null } as const
}

/** Second by second would be simpler, but conversations may be open for months. */
function openFrom(
  conversation: ModelConversation,
  mirroredSince: number,
  from: number,
  end: number | null,
) {
  // It began before the handling of its second, so it was open if the conversation was open at all
  // in that second.
  if (end === from) {
    const isOpenThen = statesOf(conversation, mirroredSince).some(
      (span) => span.state === 'open' && span.from <= from && (span.to ?? from) >= from,
    )
    return isOpenThen ? from : null
  }
  const to = end ?? Number.POSITIVE_INFINITY
  const moments = statesOf(conversation, mirroredSince)
    .filter(({ state }) => state === 'open')
    .map((open) => ({
      from: Math.max(open.from, from),
      to: Math.min(open.to ?? Number.POSITIVE_INFINITY, to),
    }))
    .filter((shared) => shared.from < shared.to)
    .map((shared) => shared.from)
  return moments.length === 0 ? null : Math.min(...moments)
}

function describeAnswer(
  utterances: readonly TimedModelMessage[],
  run: Run,
  human: number,
): HumanAnswer {
  const { at = 0, name = '' } = utterances[human] ?? {}
  const between = utterances.slice(run.to, human)
  const before = between.at(-1)
  const aiAnswers = between.filter(
    ({ role }, index) => role === 'ai' && between[index - 1]?.role !== 'ai',
  ).length
  // The messages of one role that end just before the answer.
  const lastOther = utterances.findLastIndex(
    ({ role }, index) => index < human && role !== before?.role,
  )
  const beganAt = utterances[Math.max(lastOther + 1, run.from)]?.at ?? 0
  const heardFrom = before?.role === 'ai' ? before.at : beganAt
  return { at, name, aiAnswers, afterAiFrom: aiAnswers === 0 ? null : heardFrom }
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
    open_from_date: clock.date(wait.openFrom),
    open_from_hour: clock.hour(wait.openFrom),
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

export type ModelWait = ReturnType<typeof toWaitRow>
