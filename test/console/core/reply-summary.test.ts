/** Whether a visitor was answered twice: what the page says of each state a reply can be in. */
import { expect, test } from 'vitest'
import { writebackStatuses } from '../../../schema/operation-specs.ts'
import { type SummarizedReply, summarizeReplies } from '../../../src/console/core/reply-summary.ts'
import type { WritebackStatus } from '../../../src/outbox/core/state.ts'

let replies = 0
const reply = (status: WritebackStatus, over: Partial<SummarizedReply> = {}): SummarizedReply => ({
  status,
  conversation: 'c1',
  words: `words ${replies++}`,
  isInDoubt: false,
  shownTimes: status === 'succeeded' ? 1 : 0,
  ...over,
})
const said = (...all: SummarizedReply[]) => {
  const { kind, text } = summarizeReplies(all)
  return `${kind}: ${text}`
}

const none = 'No reply from here is known to have reached this visitor'
const unsent = `fine: ${none}; 1 did not reach this visitor.`
const perhaps = `act: ${none}; 1 did not succeed and may have arrived.`
const waits = `fine: ${none}; 1 has not left yet.`
const again = `act: ${none}; 1 is to be sent again, and may have arrived before.`
const uncertain = `act: ${none}; 1 is uncertain.`

/** Of one reply; the second is in doubt. */
const sentences: Readonly<Record<WritebackStatus, readonly [string, string]>> = {
  draft: [waits, again],
  queued: [waits, again],
  sending: [`fine: ${none}; 1 is being sent.`, again],
  succeeded: [
    'fine: 1 reply was sent to this visitor, once.',
    'act: 1 reply was sent to this visitor; 1 may have arrived twice, as a person had it sent again.',
  ],
  failed: [unsent, perhaps],
  conflict: [unsent, perhaps],
  uncertain: [uncertain, uncertain],
  cancelled: [unsent, perhaps],
  expired: [unsent, perhaps],
}

test.each(writebackStatuses)('one that is %s', (status) => {
  expect([said(reply(status)), said(reply(status, { isInDoubt: true }))]).toEqual(sentences[status])
})

test('several, in one sentence', () => {
  const three = [reply('succeeded'), reply('succeeded'), reply('succeeded')]
  expect(said()).toBe(`note: ${none}.`)
  expect(said(...three, reply('uncertain'))).toBe(
    'act: 3 replies were sent to this visitor, each once; 1 is uncertain.',
  )
})

test('the same words, also in another conversation, if they may have reached the visitor', () => {
  const [words, other] = ['It is on its way.', { conversation: 'c2' }]
  const rest = 'Of those that were or may have been sent, 2 have the same words as another.'
  expect(said(reply('succeeded', { words }), reply('succeeded', { words, ...other }))).toBe(
    `wrong: 2 replies were sent to this visitor, each once. ${rest}`,
  )
  expect(
    said(reply('succeeded', { words }), reply('conflict', { words, isInDoubt: true })),
  ).toMatch(`once; 1 did not succeed and may have arrived. ${rest}`)
  const never = [
    reply('succeeded', { words }),
    reply('draft', { words }),
    reply('failed', { words }),
  ]
  expect(said(...never)).not.toContain('same words')
  const deleted = { words: null }
  expect(said(reply('succeeded', deleted), reply('succeeded', deleted))).not.toContain('same words')
})

test('words that appear in the conversation more often than they were sent', () => {
  const shownTimes = 2
  expect(said(reply('succeeded', { shownTimes }))).toBe(
    'wrong: 1 reply was sent to this visitor; 1 appears in the conversation more often than it was sent from here.',
  )
  const twice = { words: 'Thank you.', shownTimes }
  expect(said(reply('succeeded', twice), reply('succeeded', twice))).not.toContain('more often')
})
