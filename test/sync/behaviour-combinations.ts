/** Every behaviour that the service's documentation leaves open, in combinations that contain every pair of values. */
import { make } from 'covertable'
import type { Switches } from '../../src/sandbox/switches.ts'

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

export const behaviourCombinations = make(undocumentedBehaviours) as Partial<Switches>[]

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
