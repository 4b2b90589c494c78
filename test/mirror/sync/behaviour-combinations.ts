/**
 * Every behaviour that the service's documentation leaves open, in combinations that contain every
 * pair of values.
 */
import covertable from 'covertable'
import type { Switches } from '../../../src/sandbox/switches.ts'

export const undocumentedBehaviours = {
  'conversations.since': ['lastMessageAt', 'createdAt', 'updatedAt'],
  'conversations.bound': ['inclusive', 'exclusive'],
  'conversations.updatedAt': [true, false],
  'visitors.since': ['lastSeenAt', 'createdAt', 'updatedAt'],
  'visitors.bound': ['inclusive', 'exclusive'],
  'visitors.fields': ['plain', 'nested', 'snake'],
  'calls.order': ['oldest', 'newest'],
  'calls.by': ['startedAt', 'endedAt'],
  'calls.from': ['inclusive', 'exclusive'],
  'calls.to': ['exclusive', 'inclusive'],
  'calls.range': ['optional', 'required'],
  'calls.fields': ['plain', 'nested', 'snake'],
  'activity.before': ['exclusive', 'inclusive'],
  'activity.fields': ['plain', 'nested', 'snake'],
  'activity.order': ['newest', 'newest-ascending'],
  'activity.ids': ['none', 'own', 'page'],
  'messages.paging': ['since', 'before', 'limit', 'all'],
  'messages.order': ['oldest', 'newest', 'newest-ascending'],
  'messages.bound': ['inclusive', 'exclusive'],
  'messages.limit': ['honoured', 'ignored'],
  'query.unknown': ['ignored', 'rejected'],
  hasMore: ['exact', 'full', 'always'],
  'time.hidden': [false, true],
  'storm.conversations': [0, 250],
  'storm.visitors': [0, 230],
  'storm.calls': [0, 220],
  'storm.messages': [0, 70],
  'storm.activity': [0, 210],
  'rows.offset': [0, -3600, 600],
  'misdated.share': [0, 0.03],
  'misdated.seconds': [3600, 31_536_000, -300],
  'misdated.of': ['conversations,visitors,calls', 'messages,activity'],
  'misdated.last': ['latest', 'greatest'],
  'late.share': [0, 0.3],
  'late.seconds': [60, 300],
  'single.shape': ['same', 'more', 'fewer'],
  'move.every': [0, 5],
  'stale.ms': [0, 300],
  'reopen.byVisitor': [true, false],
  'recordings.none': ['200', '404'],
  'ids.big': [false, true],
  content: ['varied', 'hostile'],
  'rows.hostile': ['none', 'odd', 'unfit'],
  gzip: [false, true],
  'errors.issues': ['path', 'field', 'string'],
  'errors.context': ['error', 'envelope'],
} satisfies { [Name in keyof Switches]?: readonly Switches[Name][] }

/**
 * What is long is what takes a test's time, so one list at a time has more than one page, or many
 * rows of one second.
 */
const longLists = ['conversations', 'visitors', 'calls'] as const
const storms = ['none', 'conversations', 'visitors', 'calls', 'messages', 'activity'] as const

export type Combination = {
  readonly switches: Partial<Switches>
  readonly long: (typeof longLists)[number]
}

const isStorm = (name: string) => name.startsWith('storm.')

export const behaviourCombinations: readonly Combination[] = covertable
  .make({
    ...Object.fromEntries(
      Object.entries(undocumentedBehaviours).filter(([name]) => !isStorm(name)),
    ),
    storm: [...storms],
    long: [...longLists],
  })
  .map(
    ({ long, storm, ...switches }) =>
      ({ long, switches: { ...switches, ...stormOf(String(storm)) } }) as Combination,
  )

function stormOf(list: string): Partial<Switches> {
  const rows = Object.entries(undocumentedBehaviours).find(
    ([name]) => name === `storm.${list}`,
  )?.[1][1]
  return rows === undefined ? {} : { [`storm.${list}`]: rows }
}

/**
 * The numbers of those that `npm test` has time for: every value is in one of them, and seven
 * tenths of all pairs are. The soak tests run all.
 */
export const sampledCombinations: readonly number[] = sampleWithEveryValue(
  behaviourCombinations.map(valuesOf),
)

function valuesOf({ switches, long }: Combination): readonly string[] {
  return Object.entries({ ...switches, long }).map(([name, value]) => `${name} ${value}`)
}

/** Takes the one with the most values that are still missing until each value was taken. */
function sampleWithEveryValue(combinations: readonly (readonly string[])[]): number[] {
  const sample: number[] = []
  for (;;) {
    const taken = new Set(sample.flatMap((n) => combinations[n] ?? []))
    const missing = combinations.map((values) => values.filter((value) => !taken.has(value)).length)
    const most = Math.max(...missing)
    if (most === 0) return sample.toSorted((a, b) => a - b)
    sample.push(missing.indexOf(most))
  }
}

/** More than one page of each list, and of the messages of some conversations. */
export const multiPageSize = {
  conversations: 210,
  visitors: 205,
  calls: 205,
  messagesPerConversation: [1, 55],
  shortConversations: 0.8,
  activityPerVisitor: [0, 4],
  days: 4,
} as const

/** More than one page of one list, and a few rows of the others. */
export const sizeOf = ({ long }: Combination) => {
  const few = { conversations: 40, visitors: 30, calls: 20 }
  return { ...multiPageSize, ...few, [long]: multiPageSize[long] }
}

const smallPages = 60

/** The same in pages of 60 instead of 200, as a request for each row takes most of the time. */
export const smallSizeOf = ({ long }: Combination) => {
  const few = { conversations: 20, visitors: 15, calls: 10 }
  return { ...multiPageSize, ...few, [long]: smallPages + 5 }
}

export function smallSwitchesOf({ switches }: Combination): Partial<Switches> {
  const storms = Object.entries(switches).filter(([name]) => isStorm(name))
  const small = storms.map(([name, rows]) => [name, Math.ceil((Number(rows) * smallPages) / 200)])
  return { ...switches, ...Object.fromEntries(small), 'pages.size': smallPages }
}
