/** What a measure counts, as events of stored rows: each with its time, and with the readings that show it. */
import type { EpochSeconds, Seconds } from '../time.ts'
import type { Role } from './conversation-history.ts'
import type { ActiveConversations, AnswerMeasure, ConversationFilter, RollupMeasure } from './rollup-measures.ts'
import type { MeasureEvent } from './rollup-pieces.ts'
import { createTimeZone } from './time-zone.ts'

export type RollupConversation = {
  readonly id: string
  readonly visitorId: string | null
  readonly origin: string | null
  readonly createdAt: EpochSeconds | null
  readonly deletedAt: EpochSeconds | null
  readonly openedBy: string | null
  readonly firstVisitorAt: EpochSeconds | null
  readonly firstHumanAt: EpochSeconds | null
  readonly firstAiAt: EpochSeconds | null
}

type Timed = { readonly at: EpochSeconds }
type Counted = Timed & { readonly count: number }

/** Rows of the mirror of all days of the rollups. Equal ones may be one row with their count. */
export type RollupRows = {
  readonly conversations: ReadonlyMap<string, RollupConversation>
  /** The last messages of conversations, until the next one each. */
  readonly lastMessages: readonly (Timed & { readonly conversation: string; readonly until: EpochSeconds | null })[]
  /** Until it is reopened. */
  readonly handlings: readonly (Timed & { readonly conversation: string; readonly until: EpochSeconds | null })[]
  readonly messages: readonly (Counted & { readonly senderType: string | null; readonly role: Role })[]
  /** Messages of a conversation, at least one of each role in each time that no definition tells apart. */
  readonly activeConversations: readonly (Timed & { readonly conversation: string; readonly role: Role })[]
  readonly answers: readonly RollupAnswer[]
  /** `by`: the column with the time. */
  readonly visitors: readonly (Counted & { readonly by: string })[]
  readonly activeVisitors: readonly (Timed & { readonly visitor: string })[]
  readonly calls: readonly (Counted & {
    readonly by: string
    readonly status: string | null
    readonly hasRecording: boolean
  })[]
}

/** A wait that an answer ended. */
export type RollupAnswer = {
  readonly clock: AnswerMeasure['clock']
  readonly isFirst: boolean
  readonly askedAt: EpochSeconds
  readonly answeredAt: EpochSeconds
  readonly seconds: Seconds
  readonly businessSeconds: Seconds
  /** Since the conversation was created; null = unknown when. */
  readonly secondsFromCreation: Seconds | null
  readonly businessSecondsFromCreation: Seconds | null
}

/** Active conversations, which have by far the most events, are counted in `rollup-active-conversations.ts`. */
type EventMeasure = Exclude<RollupMeasure, ActiveConversations>

export function* eventsOf(measure: EventMeasure, rows: RollupRows): Generator<MeasureEvent> {
  switch (measure.population) {
    case 'conversations':
      yield* withFilter(conversationTimes(measure.by, rows), measure.filter, rows)
      return
    case 'messages':
      for (const { at, count, senderType, role } of rows.messages) {
        const { filter } = measure
        const isCounted =
          filter.rows === 'of the sender type'
            ? senderType === filter.senderType
            : filter.rows === 'all' || (role === 'event') === (filter.rows === 'events')
        if (isCounted) yield { at, value: '', count }
      }
      return
    case 'visitors':
      for (const { at, by, count } of rows.visitors) if (by === measure.by) yield { at, value: '', count }
      return
    case 'active visitors':
      if (measure.with === 'activity') for (const { at, visitor } of rows.activeVisitors) yield { at, value: visitor }
      else yield* visitorsWithConversation(rows)
      return
    case 'calls':
      for (const { at, by, status, count } of rows.calls)
        if (by === measure.by && (measure.status === null || status === measure.status)) yield { at, value: '', count }
      return
    case 'calls with a recording':
      for (const { at, by, hasRecording, count } of rows.calls)
        if (by === measure.by && hasRecording) yield { at, value: '', count }
      return
    case 'answers':
      yield* answerEvents(measure, rows)
      return
    case 'hours': {
      const zone = createTimeZone(measure.zone)
      for (const { at, count } of busyTimes(measure.with, rows)) {
        const local = at + zone.offsetSpanAt(at).offset
        yield { at, value: Math.floor((local % 86_400) / 3600), count }
      }
    }
  }
}

type ConversationEvent = Timed & { readonly conversation: string; readonly until?: EpochSeconds | null }

function* conversationTimes(
  by: Extract<RollupMeasure, { population: 'conversations' }>['by'],
  { conversations, lastMessages, handlings }: RollupRows,
): Generator<ConversationEvent> {
  if (by === 'last message') yield* lastMessages
  else if (by === 'handling') yield* handlings
  else {
    const column = (
      {
        creation: 'createdAt',
        'first visitor message': 'firstVisitorAt',
        'first human message': 'firstHumanAt',
      } as const
    )[by]
    for (const conversation of conversations.values()) {
      const at = conversation[column]
      if (at !== null) yield { at, conversation: conversation.id }
    }
  }
}

/** Splits an event where the filter depends on what came later. */
function* withFilter(
  events: Iterable<ConversationEvent>,
  filter: ConversationFilter,
  { conversations }: RollupRows,
): Generator<MeasureEvent> {
  for (const { at, conversation, until } of events) {
    const row = conversations.get(conversation)
    if (row === undefined) continue
    const spans = spansOfFilter(filter, row)
    if (spans === always && (until ?? null) === null) yield { at, value: conversation }
    else
      for (const span of spans) {
        const end = Math.min(until ?? Number.POSITIVE_INFINITY, span.until ?? Number.POSITIVE_INFINITY)
        yield { at, value: conversation, since: span.since, until: Number.isFinite(end) ? end : undefined }
      }
  }
}

type Span = { readonly since?: EpochSeconds; readonly until?: EpochSeconds }
const always: readonly Span[] = [{}]
const never: readonly Span[] = []

/** When a reading counts the conversation. It has forgotten a deleted one. */
export function spansOfFilter(filter: ConversationFilter, row: RollupConversation): readonly Span[] {
  if (row.deletedAt === null || filter.rows === 'all and deleted ones') return spansOfLiving(filter, row)
  const { deletedAt } = row
  return spansOfLiving(filter, row).map((span) => ({ ...span, until: Math.min(deletedAt, span.until ?? deletedAt) }))
}

function spansOfLiving(filter: ConversationFilter, row: RollupConversation): readonly Span[] {
  const { firstHumanAt, firstAiAt } = row
  switch (filter.rows) {
    case 'all':
    case 'all and deleted ones':
      return always
    case 'begun by the visitor':
      return row.openedBy === 'visitor' ? always : never
    case 'with a human message':
      return since(firstHumanAt)
    case 'with an AI message':
      return since(firstAiAt)
    case 'without an AI message':
      return until(firstAiAt)
    case 'answered by the AI alone':
      if (firstAiAt === null || (firstHumanAt !== null && firstHumanAt <= firstAiAt)) return never
      return [{ since: firstAiAt, ...(firstHumanAt === null ? {} : { until: firstHumanAt }) }]
    case 'not answered by the AI alone':
      if (firstAiAt === null || (firstHumanAt !== null && firstHumanAt <= firstAiAt)) return always
      return [{ until: firstAiAt }, ...since(firstHumanAt)]
    case 'of the origin':
      return row.origin === filter.origin ? always : never
    case 'not of the origin':
      return row.origin === filter.origin ? never : always
  }
}

function since(at: EpochSeconds | null): readonly Span[] {
  return at === null ? never : [{ since: at }]
}

function until(at: EpochSeconds | null): readonly Span[] {
  return at === null ? always : [{ until: at }]
}

function* visitorsWithConversation({ conversations }: RollupRows): Generator<MeasureEvent> {
  for (const { createdAt, visitorId, deletedAt } of conversations.values())
    if (createdAt !== null && visitorId !== null)
      yield { at: createdAt, value: visitorId, until: deletedAt ?? undefined }
}

function* answerEvents(measure: AnswerMeasure, { answers }: RollupRows): Generator<MeasureEvent> {
  for (const answer of answers) {
    if (answer.clock !== measure.clock || (measure.which === 'first' && !answer.isFirst)) continue
    const value = durationOf(measure, answer)
    if (value === null) continue
    const { askedAt, answeredAt } = answer
    yield { at: measure.countedOn === 'question' ? askedAt : answeredAt, value, since: answeredAt }
  }
}

function durationOf({ from, hours }: AnswerMeasure, answer: RollupAnswer): Seconds | null {
  if (from === 'creation') return hours === 'all' ? answer.secondsFromCreation : answer.businessSecondsFromCreation
  return hours === 'all' ? answer.seconds : answer.businessSeconds
}

function* busyTimes(
  busyWith: Extract<RollupMeasure, { population: 'hours' }>['with'],
  { conversations, messages }: RollupRows,
): Generator<Counted> {
  if (busyWith === 'conversations created') {
    for (const { createdAt, deletedAt } of conversations.values())
      if (createdAt !== null && deletedAt === null) yield { at: createdAt, count: 1 }
  } else for (const row of messages) if (busyWith === 'messages' || row.role === 'visitor') yield row
}
