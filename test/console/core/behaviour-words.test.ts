/** What was learned about the service, in words that need no glossary. */
import { expect, test } from 'vitest'
import { describeBehaviour } from '../../../src/console/core/behaviour-words.ts'
import {
  emptyProfile,
  type ListEndpoint,
  type PagingProfile,
  toForgotten,
  toObservations,
} from '../../../src/mirror/core/pagination/paging-profile.ts'

test.each([
  [
    'calls.order',
    'ascending by startedAt or endedAt',
    'It lists the oldest rows first, by startedAt or endedAt.',
  ],
  [
    'calls.order',
    'unknown way by id',
    'It sorts rows by id; whether the oldest or the newest come first is not known.',
  ],
  ['conversations.pages', 'oldest first', 'Asked for no time, it sends the oldest rows first.'],
  [
    'calls.from_pages',
    'newest first',
    'Asked for rows from a time on (from), it sends the newest of them first.',
  ],
  [
    'visitors.since_includes',
    'false',
    'Asked for rows since a time (since), it leaves out those of that very second.',
  ],
  [
    'messages.before',
    'ignored',
    'Asked for rows before a time (before), it sends the others, too.',
  ],
  ['messages.limit', 'refused', 'Asked for a number of rows (limit), it answers with an error.'],
  [
    'visitors.page_size',
    '75',
    'A test found no rows missing after a page of 75 rows, so pages of up to 75 rows are taken to be complete.',
  ],
  ['calls.window', '604800', 'It can be asked for 7 d at a time, and not for longer.'],
  ['visitors.order', 'unknown', 'Not known at present: in which order it lists rows.'],
  [
    'conversations.handled_filter',
    'to be tried again',
    'Whether it lists all open ones is tried again by the next sync.',
  ],
  [
    'visitors.fields_by_id',
    '["plan","tags"]',
    'A row that is asked for by its id differs from the list in plan, tags: not compared.',
  ],
  ['writebacks.note_field', 'content', 'It takes the text of a note in the field content.'],
  // Of another version, or of a warehouse from anywhere.
  ['calls.of_tomorrow', 'x', 'of tomorrow: x'],
  ['calls.constructor', 'x', 'constructor: x'],
  ['calls.order', 'constructor by x', 'It lists rows constructor by x.'],
  ['calls.from', 'constructor', 'constructor'],
  ['visitors.fields_by_id', 'plan', 'fields by id: plan'],
  ['visitors.fields_by_id', '{"plan":1}', 'fields by id: {"plan":1}'],
])('%s, %s', (name, value, text) => {
  expect(describeBehaviour(name, value).text).toBe(text)
})

test('whatever is learned of a list has a sentence, known or not', () => {
  const list: ListEndpoint = {
    name: 'visitor_activity',
    path: '/activity',
    query: {},
    lowerParam: 'since',
    upperParam: 'before',
    isDocumented: false,
    partitions: [],
    identify: () => '',
    times: () => new Map(),
  }
  const learned: PagingProfile = {
    order: { direction: 'ascending', fields: ['at'] },
    hasMixedOrder: false,
    ways: { unbounded: 'forward', forward: 'forward', backward: 'backward' },
    inclusiveBounds: { lower: true, upper: false },
    support: { lower: 'honoured', upper: 'ignored', limit: 'refused' },
    isHasMoreReliableIfShort: true,
    setsHasMore: true,
    setsHasMoreIfFull: true,
    requiresBothBounds: true,
    largestPage: 75,
    listedAtMost: 100,
    widestWindow: 86_400 as PagingProfile['widestWindow'],
  }
  const empty = emptyProfile(list)
  const facts = [...toObservations(list, empty, learned, ''), ...toForgotten(list, learned, empty)]
  expect(facts).toHaveLength(30)
  for (const { name, value } of facts)
    expect(describeBehaviour(name, value).text, name).toMatch(/^[A-Z][^_]+\.$/)
})
