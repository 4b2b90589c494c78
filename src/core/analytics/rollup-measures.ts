/**
 * What a number of the service's daily rollup may count. The service documents none of them, so each number is compared
 * with counts of our own: a population, the moment that decides on the day, and a filter.
 */

const plainFilters = [
  'all',
  'all and deleted ones',
  'begun by the visitor',
  'with a human message',
  'with an AI message',
  'without an AI message',
  'answered by the AI alone',
  'not answered by the AI alone',
] as const

export type ConversationFilter =
  | { readonly rows: (typeof plainFilters)[number] }
  | { readonly rows: 'of the origin' | 'not of the origin'; readonly origin: string }

export const conversationTimes = [
  'creation',
  'last message',
  'handling',
  'first visitor message',
  'first human message',
] as const
export const messageKinds = [
  'any message',
  'an utterance',
  'a visitor message',
  'a human message',
  'an AI message',
] as const

export type ConversationTime = (typeof conversationTimes)[number]
export type MessageKind = (typeof messageKinds)[number]

export type MessageFilter =
  | { readonly rows: 'all' | 'utterances' | 'events' }
  | { readonly rows: 'of the sender type'; readonly senderType: string }

/** Durations of answers. */
export type AnswerMeasure = {
  readonly population: 'answers'
  readonly clock: 'any' | 'human'
  readonly which: 'first' | 'every'
  readonly countedOn: 'question' | 'answer'
  readonly from: 'the first message' | 'creation'
  readonly hours: 'all' | 'business'
}

/** Conversations with such a message within the day, each once. */
export type ActiveConversations = {
  readonly population: 'active conversations'
  readonly with: MessageKind
  readonly filter: ConversationFilter
}

/** Visitors who did it within the day, each once. */
export type ActiveVisitors = {
  readonly population: 'active visitors'
  readonly with: 'a conversation created' | 'activity'
}

export type ConversationMeasure = {
  readonly population: 'conversations'
  readonly by: ConversationTime
  readonly filter: ConversationFilter
}

export type CountMeasure =
  | ConversationMeasure
  | ActiveConversations
  | { readonly population: 'messages'; readonly filter: MessageFilter }
  /** By a column with a time. */
  | { readonly population: 'visitors'; readonly by: string }
  | ActiveVisitors
  | { readonly population: 'calls'; readonly by: string; readonly status: string | null }
  | { readonly population: 'calls with a recording'; readonly by: string }

/** The hours of a zone's clock with the most of them. */
export type HourMeasure = {
  readonly population: 'hours'
  readonly with: (typeof busyWith)[number]
  readonly zone: string
}

const busyWith = ['messages', 'visitor messages', 'conversations created'] as const

export type RollupMeasure = AnswerMeasure | CountMeasure | HourMeasure

/** What the mirror has, as far as it makes candidates differ. */
export type MirrorVocabulary = {
  readonly origins: readonly string[]
  readonly senderTypes: readonly string[]
  /** Columns with times. */
  readonly visitorTimes: readonly string[]
  readonly callTimes: readonly string[]
  readonly callStatuses: readonly string[]
  /** Whose hours the service may show. */
  readonly zones: readonly string[]
}

export function rollupMeasures(mirror: MirrorVocabulary): RollupMeasure[] {
  return [
    ...conversationMeasures(mirror),
    ...messageFilters(mirror).map((filter) => ({ population: 'messages', filter }) as const),
    ...mirror.visitorTimes.map((by) => ({ population: 'visitors', by }) as const),
    { population: 'active visitors', with: 'a conversation created' },
    { population: 'active visitors', with: 'activity' },
    ...mirror.callTimes.flatMap((by): CountMeasure[] => [
      ...[null, ...mirror.callStatuses].map((status) => ({ population: 'calls', by, status }) as const),
      { population: 'calls with a recording', by },
    ]),
    ...answerMeasures(),
    ...mirror.zones.flatMap((zone) => busyWith.map((busy) => ({ population: 'hours', with: busy, zone }) as const)),
  ]
}

/** Origins are not combined with kinds of messages: too many candidates that few services can mean. */
function conversationMeasures({ origins }: MirrorVocabulary): CountMeasure[] {
  const plain = plainFilters.map((rows): ConversationFilter => ({ rows }))
  const byOrigin = origins.flatMap((origin): ConversationFilter[] => [
    { rows: 'of the origin', origin },
    { rows: 'not of the origin', origin },
  ])
  return [
    ...[...plain, ...byOrigin].flatMap((filter) => [
      ...conversationTimes.map((by) => ({ population: 'conversations', by, filter }) as const),
      { population: 'active conversations', with: 'any message', filter } as const,
    ]),
    ...plain.flatMap((filter) =>
      messageKinds.slice(1).map((kind) => ({ population: 'active conversations', with: kind, filter }) as const),
    ),
  ]
}

function messageFilters({ senderTypes }: MirrorVocabulary): MessageFilter[] {
  return [
    ...(['all', 'utterances', 'events'] as const).map((rows) => ({ rows })),
    ...senderTypes.map((senderType) => ({ rows: 'of the sender type', senderType }) as const),
  ]
}

function answerMeasures(): AnswerMeasure[] {
  const starts = [
    { which: 'first', from: 'the first message' },
    { which: 'first', from: 'creation' },
    { which: 'every', from: 'the first message' },
  ] as const
  return starts.flatMap((start) =>
    (['any', 'human'] as const).flatMap((clock) =>
      (['question', 'answer'] as const).flatMap((countedOn) =>
        (['all', 'business'] as const).map(
          (hours) => ({ population: 'answers', ...start, clock, countedOn, hours }) as const,
        ),
      ),
    ),
  )
}

/** In plain words: `conversations with a human message, by creation`. */
export function describeMeasure(measure: RollupMeasure): string {
  switch (measure.population) {
    case 'conversations':
      return `${withFilter('conversations', measure.filter)}, by ${measure.by}`
    case 'active conversations':
      return `${withFilter('conversations', measure.filter)}, with ${measure.with} on the day`
    case 'messages':
      return describeMessages(measure.filter)
    case 'active visitors':
      return `visitors with ${measure.with} on the day`
    case 'calls':
      return measure.status === null ? `calls, by ${measure.by}` : `calls of status ${measure.status}, by ${measure.by}`
    case 'visitors':
    case 'calls with a recording':
      return `${measure.population}, by ${measure.by}`
    case 'answers':
      return describeAnswers(measure)
    case 'hours':
      return `hour of ${measure.zone} by ${measure.with}`
  }
}

function withFilter(population: string, filter: ConversationFilter): string {
  switch (filter.rows) {
    case 'all':
      return population
    case 'all and deleted ones':
      return `${population}, deleted ones too`
    case 'of the origin':
    case 'not of the origin':
      return `${population} ${filter.rows} ${filter.origin}`
    default:
      return `${population} ${filter.rows}`
  }
}

function describeMessages(filter: MessageFilter): string {
  if (filter.rows === 'all') return 'messages'
  return filter.rows === 'of the sender type' ? `messages of the sender type ${filter.senderType}` : filter.rows
}

function describeAnswers({ clock, which, countedOn, from, hours }: AnswerMeasure): string {
  const answer = clock === 'human' ? 'human answer' : 'answer'
  const start = which === 'first' ? ` from ${from}` : ''
  const time = hours === 'business' ? 'business time' : 'time'
  return `${time} to ${which} ${answer}${start}, on the day of the ${countedOn}`
}

/** Of two measures that fit equally, the lower one is the more likely meaning. */
export function complexityOf(measure: RollupMeasure): number {
  switch (measure.population) {
    case 'conversations':
      return (measure.by === 'creation' || measure.by === 'handling' ? 0 : 1) + complexityOfFilter(measure.filter)
    case 'active conversations':
      return (measure.with === 'any message' ? 0 : 1) + complexityOfFilter(measure.filter)
    case 'messages':
      return measure.filter.rows === 'all' ? 0 : 1
    case 'visitors':
      return 0
    case 'active visitors':
    case 'calls with a recording':
      return 1
    case 'hours':
      return measure.zone === 'UTC' ? 2 : 1
    case 'calls':
      return measure.status === null ? 0 : 2
    case 'answers':
      return 1 + (measure.hours === 'business' ? 1 : 0) + (measure.from === 'creation' ? 1 : 0)
  }
}

function complexityOfFilter(filter: ConversationFilter): number {
  if (filter.rows === 'all') return 0
  return 'origin' in filter ? 3 : 2
}
