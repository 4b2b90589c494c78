/** A random mirror of some weeks, and every candidate of a rollup's number from it, as a sync computes them. */
import { createAnswerStatistics, type RollupAnswers } from '../../../src/core/analytics/rollup-answers.ts'
import { createConversationCounter } from '../../../src/core/analytics/rollup-conversation-counter.ts'
import type { RollupConversation } from '../../../src/core/analytics/rollup-conversation-filter.ts'
import { countDifferent, type MeasureEvent } from '../../../src/core/analytics/rollup-day-values.ts'
import { partOfDays, type RollupDays, type RollupWindow } from '../../../src/core/analytics/rollup-days.ts'
import { type Candidate, candidatesOf, countCandidates } from '../../../src/core/analytics/rollup-definitions.ts'
import { eventsOf } from '../../../src/core/analytics/rollup-events.ts'
import { groupMeasures } from '../../../src/core/analytics/rollup-measure-groups.ts'
import type { ActiveVisitors, AnswerMeasure, RollupMeasure } from '../../../src/core/analytics/rollup-measures.ts'
import { rollupMeasures } from '../../../src/core/analytics/rollup-measures.ts'
import { vocabularyOf } from '../../../src/core/analytics/rollup-vocabulary.ts'

type Random = () => number

const [hour, day] = [3600, 86_400]
/** Midnight of Berlin. */
const firstMidnight = Date.parse('2026-02-28T23:00:00Z') / 1000
const columns = { visitorTimes: ['created_at'], callTimes: ['occurred_at', 'ended_at'] }
const zones = ['UTC', 'Europe/Berlin']

export type WorldConversation = RollupConversation & {
  readonly handlings: readonly { readonly at: number; readonly until: number | null }[]
  readonly messages: readonly { readonly at: number; readonly role: 'visitor' | 'human' | 'ai' | 'event' }[]
}

export type WorldAnswer = {
  readonly clock: AnswerMeasure['clock']
  readonly isFirst: boolean
  readonly askedAt: number
  readonly answeredAt: number
  readonly seconds: number
  readonly businessSeconds: number
  readonly secondsFromCreation: number | null
  readonly businessSecondsFromCreation: number | null
}

export type RollupWorld = ReturnType<typeof createRollupWorld>

export function createRollupWorld(random: Random, days: number, count: number) {
  const below = (limit: number) => Math.floor(random() * limit)
  const oneOf = <T>(...values: readonly T[]): T => values[below(values.length)] as T
  const withinDays = () => firstMidnight + below(days * day)
  const conversations = Array.from({ length: count }, (_, n) => randomConversation(`c${n}`, days, random))
  const calls = Array.from({ length: 15 * days }, () => ({
    ...{ at: withinDays(), status: oneOf('done', 'missed'), hasRecording: random() < 0.5, count: 1 },
  }))
  return {
    conversations,
    answers: conversations.flatMap(answersOf),
    /** Days of Berlin, each read some hours after its end. */
    windows: Array.from({ length: days }, (_, n): RollupWindow => {
      const from = firstMidnight + n * day
      return { from, to: from + day, readAt: from + day + below(30 * hour) }
    }),
    counts: {
      messages: conversations.flatMap(({ messages }) =>
        messages.map(({ at, role }) => ({ at, role, senderType: role, count: 1 })),
      ),
      visitors: Array.from({ length: 12 * days }, () => ({ at: withinDays(), by: 'created_at', count: 1 })),
      calls: calls.flatMap((call) => [
        { ...call, by: 'occurred_at' },
        { ...call, at: call.at + below(hour), by: 'ended_at' },
      ]),
    },
    activity: Array.from({ length: 50 * days }, () => ({ at: withinDays(), value: `v${below(300)}` })),
  }
}

/** Some are deleted, some begun by the team, some go on days later, some are handled and reopened. */
function randomConversation(id: string, days: number, random: Random): WorldConversation {
  const below = (limit: number) => Math.floor(random() * limit)
  const oneOf = <T>(...values: readonly T[]): T => values[below(values.length)] as T
  const createdAt = firstMidnight - day + below((days + 2) * day)
  const messages: WorldConversation['messages'][number][] = [
    { at: createdAt + below(hour), role: oneOf('visitor', 'visitor', 'visitor', 'human') },
  ]
  for (let n = below(7); n > 0; n--) {
    const pause = random() < 0.1 ? below(3 * day) : below(2 * hour)
    messages.push({ at: (messages.at(-1)?.at ?? 0) + pause, role: oneOf('visitor', 'human', 'ai', 'event') })
  }
  const firstOf = (role: string) => messages.find((message) => message.role === role)?.at ?? null
  const handledAt = (messages.at(-1)?.at ?? 0) + below(day)
  const reopenedAt = handledAt + below(2 * day)
  return {
    ...{ id, createdAt, messages, visitorId: `v${below(300)}`, origin: oneOf('widget', 'mail', 'phone') },
    deletedAt: random() < 0.05 ? createdAt + below(20 * day) : null,
    openedBy: messages[0]?.role ?? null,
    ...{ firstVisitorAt: firstOf('visitor'), firstHumanAt: firstOf('human'), firstAiAt: firstOf('ai') },
    handlings: oneOf<WorldConversation['handlings']>(
      [],
      [{ at: handledAt, until: null }],
      [
        { at: handledAt, until: reopenedAt },
        { at: reopenedAt + hour, until: null },
      ],
    ),
  }
}

function answersOf({ createdAt, messages }: WorldConversation): WorldAnswer[] {
  const asked = messages.find(({ role }) => role === 'visitor')?.at
  return (['any', 'human'] as const).flatMap((clock) => {
    const isAnswer = (role: string) => role === 'human' || (clock === 'any' && role === 'ai')
    const answer = messages.find(({ at, role }) => asked !== undefined && at > asked && isAnswer(role))
    if (asked === undefined || answer === undefined || createdAt === null) return []
    const [seconds, secondsFromCreation] = [answer.at - asked, answer.at - createdAt]
    const business = { businessSeconds: Math.floor(seconds / 3), businessSecondsFromCreation: Math.floor(seconds / 2) }
    return [{ clock, isFirst: true, askedAt: asked, answeredAt: answer.at, seconds, secondsFromCreation, ...business }]
  })
}

export function measuresOf({ counts, conversations }: RollupWorld): RollupMeasure[] {
  const origins = conversations.map(({ origin }) => [origin, 1] as const)
  return rollupMeasures(vocabularyOf(counts, origins, columns, zones))
}

/** `partSize`: days that are counted at a time, where all rows of a day must be known at once. */
export function candidatesFor(
  world: RollupWorld,
  measures: readonly RollupMeasure[],
  days: RollupDays,
  partSize = 25,
): Candidate[] {
  const { grouped, conversations, answers, visitors } = groupMeasures(measures)
  const counter = createConversationCounter(conversations, days)
  for (const { messages, handlings, ...row } of world.conversations) {
    for (const [role, ofRole] of Map.groupBy(messages, (message) => message.role))
      counter.addMessages(
        role,
        ofRole.map(({ at }) => at),
      )
    counter.addConversation(row, handlings)
  }
  const parts = Array.from({ length: Math.ceil(days.windows.length / partSize) }, (_, n) =>
    partOfDays(days, n * partSize, (n + 1) * partSize),
  )
  const statistics = createAnswerStatistics(days)
  for (const measure of answers)
    for (const part of parts) statistics.add(part, measure, toColumns(world.answers, measure.clock))
  const countVisitors = (measure: ActiveVisitors) => {
    const counts = new Float64Array(days.days.length)
    for (const part of parts) part.copy(countDifferent(visitorEvents(world, measure), part.days), counts)
    return countCandidates(measure, counts, days)
  }
  return [
    ...grouped.flatMap((measure) => candidatesOf(measure, eventsOf(measure, world.counts), days)),
    ...conversations.flatMap(counter.candidatesOf),
    ...answers.flatMap(statistics.candidatesOf),
    ...visitors.flatMap(countVisitors),
  ]
}

export function visitorEvents({ activity, conversations }: RollupWorld, measure: ActiveVisitors): MeasureEvent[] {
  if (measure.with === 'activity') return activity
  return conversations.flatMap(({ createdAt, visitorId, deletedAt }) =>
    createdAt === null || visitorId === null
      ? []
      : [{ at: createdAt, value: visitorId, until: deletedAt ?? undefined }],
  )
}

function toColumns(answers: readonly WorldAnswer[], clock: AnswerMeasure['clock']): RollupAnswers {
  const ofClock = answers.filter((answer) => answer.clock === clock)
  const column = <K extends keyof WorldAnswer>(name: K) => ofClock.map((answer) => answer[name])
  return {
    ...{ isFirst: column('isFirst'), askedAt: column('askedAt'), answeredAt: column('answeredAt') },
    ...{ seconds: column('seconds'), businessSeconds: column('businessSeconds') },
    secondsFromCreation: column('secondsFromCreation'),
    businessSecondsFromCreation: column('businessSecondsFromCreation'),
  }
}
