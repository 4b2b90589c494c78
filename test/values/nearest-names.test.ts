/** The names that a mistyped one may stand for. */
import { expect, test } from 'vitest'
import { nearestNames } from '../../src/values/nearest-names.ts'

const names = [
  'conversations',
  'conversation_changes',
  'messages',
  'fct_conversation',
  'fct_wait',
  'calls',
]

test.each([
  ['mesages', ['messages']],
  ['Messages', ['messages']],
  ['conversation', ['conversations', 'fct_conversation', 'conversation_changes']],
  ['wait', ['fct_wait']],
  ['cals', ['calls']],
  ['clals', ['calls']],
  ['xyzzy', []],
  ['', []],
])('%s', (typed, nearest) => {
  expect(nearestNames(typed, names)).toEqual(nearest)
})
