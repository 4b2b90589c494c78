/** Definitions that a service hides: each number is taken for what it is, and never proven to be another one. */
import { describe, expect, test } from 'vitest'
import { isEqualAsShown } from '../../../src/core/analytics/compare-rollup-day.ts'
import { learnDefinition } from '../../../src/core/analytics/learn-rollup-definition.ts'
import { createCandidates } from '../../../src/core/analytics/rollup-candidates.ts'
import { createRollupDays, likelyZones, rollupBorders } from '../../../src/core/analytics/rollup-days.ts'
import type { Candidate } from '../../../src/core/analytics/rollup-definitions.ts'
import type { RollupAnswer, RollupConversation, RollupRows } from '../../../src/core/analytics/rollup-events.ts'
import { rollupMeasures } from '../../../src/core/analytics/rollup-measures.ts'
import { vocabularyOf } from '../../../src/core/analytics/rollup-vocabulary.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const [hour, day, days] = [3600, 86_400, 60]
const firstMidnight = Date.parse('2026-02-28T23:00:00Z') / 1000
const random = seededRandom(120)
const below = (limit: number) => Math.floor(random() * limit)
const oneOf = <T>(...values: readonly T[]): T => values[below(values.length)] as T

type Conversation = RollupConversation & {
  readonly handledAt: number | null
  readonly messages: readonly { readonly at: number; readonly role: 'visitor' | 'human' | 'ai' | 'event' }[]
}

/** Some are deleted, some begun by the team, some go on days later. */
function randomConversation(id: string): Conversation {
  const createdAt = firstMidnight - day + below((days + 2) * day)
  const count = 1 + below(7)
  const messages = [{ at: createdAt + below(hour), role: oneOf('visitor', 'visitor', 'visitor', 'human') }]
  for (let n = 1; n < count; n++) {
    const pause = random() < 0.1 ? below(3 * day) : below(2 * hour)
    messages.push({ at: messages[n - 1]!.at + pause, role: oneOf('visitor', 'human', 'ai', 'event' as never) })
  }
  const firstOf = (role: string) => messages.find((message) => message.role === role)?.at ?? null
  return {
    ...{ id, createdAt, messages: messages as Conversation['messages'], visitorId: `v${below(300)}` },
    origin: oneOf('widget', 'mail', 'phone'),
    deletedAt: random() < 0.05 ? createdAt + below(20 * day) : null,
    openedBy: messages[0]!.role,
    ...{ firstVisitorAt: firstOf('visitor'), firstHumanAt: firstOf('human'), firstAiAt: firstOf('ai') },
    handledAt: random() < 0.8 ? messages.at(-1)!.at + below(day) : null,
  }
}

const conversations = Array.from({ length: 2000 }, (_, n) => randomConversation(`c${n}`))

function answersOf({ createdAt, messages }: Conversation): RollupAnswer[] {
  const asked = messages.find(({ role }) => role === 'visitor')?.at
  return (['any', 'human'] as const).flatMap((clock) => {
    const answer = messages.find(({ at, role }) => asked !== undefined && at > asked && isAnswer(role, clock))
    if (asked === undefined || answer === undefined || createdAt === null) return []
    const [seconds, secondsFromCreation] = [answer.at - asked, answer.at - createdAt]
    const business = { businessSeconds: Math.floor(seconds / 3), businessSecondsFromCreation: Math.floor(seconds / 2) }
    return [{ clock, isFirst: true, askedAt: asked, answeredAt: answer.at, seconds, secondsFromCreation, ...business }]
  })
}

const isAnswer = (role: string, clock: 'any' | 'human') => role === 'human' || (clock === 'any' && role === 'ai')

const callTimes = Array.from({ length: 900 }, () => firstMidnight + below(days * day))
const calls = callTimes.map((at) => ({ at, status: oneOf('done', 'missed'), hasRecording: random() < 0.5, count: 1 }))

const rows: RollupRows = {
  conversations: new Map(conversations.map((conversation) => [conversation.id, conversation])),
  lastMessages: conversations.flatMap(({ id, messages }) =>
    messages.map(({ at }, n) => ({ at, conversation: id, until: messages[n + 1]?.at ?? null })),
  ),
  handlings: conversations.flatMap(({ id, handledAt }) =>
    handledAt === null ? [] : [{ at: handledAt, conversation: id, until: null }],
  ),
  messages: conversations.flatMap(({ messages }) =>
    messages.map(({ at, role }) => ({ at, role, senderType: role, count: 1 })),
  ),
  activeConversations: conversations.flatMap(({ id, messages }) =>
    messages.map(({ at, role }) => ({ at, role, conversation: id })),
  ),
  answers: conversations.flatMap(answersOf),
  visitors: Array.from({ length: 700 }, () => ({ at: firstMidnight + below(days * day), by: 'created_at', count: 1 })),
  activeVisitors: Array.from({ length: 3000 }, () => ({
    ...{ at: firstMidnight + below(days * day), visitor: `v${below(300)}` },
  })),
  calls: calls.flatMap((call) => [
    { ...call, by: 'occurred_at' },
    { ...call, at: call.at + below(hour), by: 'ended_at' },
  ]),
}

/** Days of Berlin, each read some hours after its end. */
const windows = Array.from({ length: days }, (_, n) => {
  const from = firstMidnight + n * day
  return { from, to: from + day, readAt: from + day + below(30 * hour) }
})
const columns = { visitorTimes: ['created_at'], callTimes: ['occurred_at', 'ended_at'] }
const measures = rollupMeasures(vocabularyOf(rows, columns, ['UTC', 'Europe/Berlin']))
const candidatesFor = (count: number) => {
  const cut = createRollupDays(windows.slice(-count), rollupBorders(likelyZones))
  return measures.flatMap(createCandidates(rows, cut))
}

const zeroed = ({ values }: Candidate) => values.map((value) => value ?? 0)

/** How many of 120 numbers are proven, likely or unknown; `wrong`: proven or likely to be something else. */
function learnHidden(candidates: readonly Candidate[], shareOff: number) {
  const verdicts = { proven: 0, likely: 0, unknown: 0, wrong: [] as string[] }
  for (let n = 0; n < 120; n++) {
    const hidden = candidates[below(candidates.length)]!
    const shown = zeroed(hidden).map((value) => Math.round(value) + (random() < shareOff ? 1 + below(3) : 0))
    const { verdict, best } = learnDefinition(shown, candidates)
    verdicts[verdict]++
    // Definitions that would show the same on each day are one answer.
    const isRight =
      best !== null && zeroed(best).every((value, day) => isEqualAsShown(Math.round(zeroed(hidden)[day] ?? 0), value))
    if (verdict !== 'unknown' && !isRight) verdicts.wrong.push(`${hidden.name} was taken for ${best?.name}`)
  }
  return verdicts
}

describe('of 120 hidden definitions none is taken for another one', () => {
  const cases: readonly (readonly [days: number, shareOff: number, proven: number])[] = [
    [60, 0, 90],
    [14, 0, 60],
    [7, 0, 0],
    [60, 0.1, 0],
  ]
  test.each(cases)(
    '%i days, %d of them off by some',
    (count, shareOff, proven) => {
      const { wrong, ...verdicts } = learnHidden(candidatesFor(count), shareOff)
      expect(wrong).toEqual([])
      expect(verdicts.proven).toBeGreaterThanOrEqual(proven)
    },
    60_000,
  )
})
