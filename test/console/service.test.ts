/** What was learned about the service, in words that need no glossary. */
import { expect, test } from 'vitest'
import { describeBehaviour } from '../../src/console/pages/service.ts'

test.each([
  [
    'calls.order',
    'ascending by startedAt or endedAt',
    'Its rows come ascending by startedAt or endedAt.',
  ],
  ['conversations.pages', 'oldest first', 'Without a bound, the oldest rows come first.'],
  ['calls.from_pages', 'newest first', 'With from, the newest rows come first.'],
  ['visitors.since_includes', 'false', 'since leaves out the rows of its own second.'],
  ['messages.has_more', 'exact', 'A page without hasMore is the last one.'],
  ['messages.has_more', 'not exact', 'hasMore may be set on the last page, too.'],
  ['messages.before', 'ignored', 'The parameter before is ignored.'],
  ['messages.limit', 'refused', 'The parameter limit is refused.'],
  ['visitors.page_size', '75', 'A page of 75 rows was all of its list.'],
  ['visitors.order', 'unknown', 'Not known at present: order.'],
  ['writebacks.note_field', 'content', 'The text of a note is in the field content.'],
  ['calls.of_tomorrow', 'x', 'of tomorrow: x'],
])('%s, %s', (name, value, text) => {
  expect(describeBehaviour(name, value).text).toBe(text)
})
