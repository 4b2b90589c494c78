/**
 * Matching a reply to a message by ids: when it is found, when it is absent, and when neither is
 * certain.
 */
import { expect, test } from 'vitest'
import type { Writeback } from '../../src/outbox/core/outbox-entry.ts'
import {
  readSnapshot,
  type SnapshotMessage,
} from '../../src/outbox/handlers/conversation-snapshot.ts'
import { matchReply, messageIdsBefore } from '../../src/outbox/handlers/match-reply.ts'
import type { WritebackDeps } from '../../src/outbox/handlers/operation-handler.ts'
import type { QueryParams } from '../../src/service/core/api-request.ts'
import { sampledTest } from '../support/sampled.ts'
import {
  createOutboxFor,
  ids,
  type Quirks,
  replyLine,
  startIndependentDouble,
} from './independent-double.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

const payload = { content: 'It is on its way.', sender_name: 'Ann' }
const message = (id: string, content = 'Hello?', senderName = 'Vi'): SnapshotMessage => {
  return { id, at: Number(id), content, senderName, side: 'unknown' }
}
const matching = (id: string) => message(id, payload.content, payload.sender_name)
const matchedIds = new Set<string>()
const known = {
  before: new Set(['1', '2']),
  isChanged: false,
  matchedIds,
  payload,
  duplicates: 0,
  isComplete: true,
  lastMessageAt: 2 as number | null,
  hiddenArrival: null as string | null,
}

test.for<[string, readonly SnapshotMessage[], Partial<typeof known> | { before: null }, object]>([
  ['the same messages', [message('1'), message('2')], {}, { event: 'absent' }],
  ['the same messages in another order', [message('2'), message('1')], {}, { event: 'absent' }],
  [
    'a new message that matches',
    [message('1'), message('2'), matching('3')],
    {},
    { event: 'found', messageId: '3' },
  ],
  [
    'a match beside another new message',
    [message('1'), message('2'), message('3'), matching('4')],
    {},
    { messageId: '4' },
  ],
  [
    'a match with other white space',
    [message('1'), message('2'), message('3', ' It is\r\non its way.', 'Ann ')],
    {},
    { event: 'found' },
  ],
  ['only an old message that matches', [message('1'), matching('2')], {}, { event: 'absent' }],
  [
    'a message matched to another write-back',
    [message('1'), message('2'), matching('3')],
    { matchedIds: new Set(['3']) },
    { event: 'absent' },
  ],
  [
    'a match that may be an identical reply',
    [message('1'), message('2'), matching('3')],
    { duplicates: 1 },
    { event: 'unverifiable', why: /message 3 may be an identical reply/ },
  ],
  [
    'a match for it and for each identical reply',
    [message('1'), message('2'), matching('3'), matching('4')],
    { duplicates: 1 },
    { event: 'found', messageId: '4' },
  ],
  [
    'the text under another name',
    [message('1'), message('2'), message('3', payload.content, 'Bo')],
    {},
    { event: 'unverifiable' },
  ],
  [
    'another new message',
    [message('1'), message('2'), message('3')],
    {},
    { event: 'unverifiable', why: /message 3 is new/ },
  ],
  [
    'a changed text',
    [message('1'), message('2')],
    { isChanged: true },
    { event: 'unverifiable', why: /has changed/ },
  ],
  ['a message fewer', [message('1')], {}, { event: 'unverifiable', why: /message 2/ }],
  [
    'an incomplete list',
    [message('1'), message('2')],
    { isComplete: false },
    { event: 'unverifiable' },
  ],
  [
    'a match in an incomplete list',
    [message('2'), matching('3')],
    { isComplete: false },
    { event: 'found' },
  ],
  [
    'a match, with unknown messages before',
    [message('1'), matching('2')],
    { before: null },
    { why: /message 2 is similar/ },
  ],
  [
    'nothing, as before',
    [],
    { before: new Set<string>(), lastMessageAt: null },
    { event: 'absent' },
  ],
  [
    'no message as late as the last one',
    [message('1'), message('2')],
    { lastMessageAt: 3 },
    { event: 'unverifiable', why: /last message is of 1970-01-01T00:00:03Z/ },
  ],
  [
    'a later message, but not the last one, which a clock ahead explains',
    [message('1'), message('2'), message('9')],
    { before: new Set(['1', '2', '9']), lastMessageAt: 3 },
    { event: 'unverifiable', why: /does not list it/ },
  ],
  [
    'a message later than the last one',
    [message('1'), message('2')],
    { lastMessageAt: 1 },
    { event: 'absent' },
  ],
  [
    'the same messages, and no time of the last one',
    [message('1'), message('2')],
    { lastMessageAt: null },
    { event: 'unverifiable', why: /does not say when/ },
  ],
])('the conversation shows %s', ([, shown, more, verification]) => {
  const expected = Object.entries(verification).map(([key, value]) => [
    key,
    value instanceof RegExp ? expect.stringMatching(value) : value,
  ])
  expect(matchReply(shown, { ...known, ...more })).toMatchObject(Object.fromEntries(expected))
})

test('no ids that were stored are not the same as those of a conversation without messages', () => {
  const withBefore = (before: object) => ({ evidence: { before } }) as Writeback
  expect(messageIdsBefore(withBefore({}))).toBeNull()
  expect(messageIdsBefore(withBefore({ ids: [] }))).toEqual(new Set())
})

test('a reply that shows after the last verification is found and not sent a third time', async () => {
  const service = await startIndependentDouble({
    write: (_path, _body, _does, nth) => (nth <= 2 ? { cut: true } : null),
    // The precondition check, two verifications, and one more before the resend.
    onListed: (nth, say) =>
      nth === 4 && say({ senderType: 'agent', content: 'Once.', name: 'Ann' }),
  })
  const o = await createOutboxFor(service)
  await o.queue(replyLine('Once.'))
  await o.push()
  expect(await o.all()).toMatchObject([{ status: 'succeeded', attempts: 2 }])
  expect(service.done()).toEqual([])
})

test.for<[string, Partial<Quirks>, string]>([
  ['unchanged', {}, 'succeeded'],
  ['two minutes early', { replyAheadMs: -120_000 }, 'succeeded'],
  ['in local time with a Z', { replyAheadMs: -5 * 3_600_000 }, 'succeeded'],
  [
    'after a message with a time an hour ahead',
    { aheadMs: 3_600_000, replyAheadMs: -60_000 },
    'succeeded',
  ],
  ['appended to the previous message', { appends: true }, 'uncertain'],
  ['with another text', { storedText: () => 'Einmal.' }, 'uncertain'],
  [
    'with another text and name',
    { storedText: () => 'Einmal.', shownName: () => 'Support' },
    'uncertain',
  ],
])(
  'a reply is posted once even if every response is lost: shown %s',
  async ([, quirks, becomes]) => {
    const everyAnswerLost: Quirks['write'] = (_path, _body, perform) => {
      perform()
      return { cut: true }
    }
    const service = await startIndependentDouble({ ...quirks, write: everyAnswerLost })
    const o = await createOutboxFor(service)
    await o.queue(replyLine('Once.'))
    await o.push()
    expect(service.done()).toHaveLength(1)
    expect(await o.statuses()).toEqual([becomes])
  },
)

for (const body of ['row', 'id'] as const) {
  test(`a reply whose id was in the response (${body}) is not new to the next reply, even if it shows late and changed`, async () => {
    const o = await createOutboxFixture({
      switches: { 'writes.body': body, 'reply.text': 'redacted', 'reply.late': 250 },
    })
    const line = { operation: 'message', conversation_id: o.conversation(0), sender_name: 'Ann' }
    o.sandbox.scriptFault({ kind: 'reset-before', operation: 'sendMessage', skip: 1 })
    await o.queue({ ...line, content: 'One.' }, { ...line, content: 'Two.' })
    await o.push({ verifyAfterMs: 300 })
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    expect(performedWrites(o.sandbox)).toHaveLength(2)
  })
}

for (const paging of ['since', 'before', 'limit'] as const) {
  for (const fault of ['reset-after', 'reset-before'] as const) {
    // Each paging, and each fault where all messages are shown.
    const isInSample = (paging === 'since') === (fault === 'reset-before')
    sampledTest(
      isInSample,
      `all pages of a long conversation are read (${paging}, ${fault})`,
      async () => {
        const o = await createOutboxFixture({
          size: { conversations: 1, visitors: 1, calls: 0, messagesPerConversation: [450, 450] },
          switches: {
            'messages.paging': paging,
            'messages.order': paging === 'since' ? 'oldest' : 'newest',
            'reply.seconds': -86_400,
          },
        })
        o.sandbox.resetLog()
        o.sandbox.scriptFault({ kind: fault, operation: 'sendMessage' })
        await o.queue({ ...replyLine('Once.'), conversation_id: o.conversation(0) })
        await o.push({ verifyAfterMs: 50 })
        // Uncertain if the service does not show all messages.
        expect((await o.statuses()).at(-1)).toBe(paging === 'limit' ? 'uncertain' : 'succeeded')
        expect(performedWrites(o.sandbox)).toHaveLength(
          paging === 'limit' && fault === 'reset-before' ? 0 : 1,
        )
        const reads = o.sandbox.counts().byOperation.listMessages ?? 0
        expect(reads).toBeLessThanOrEqual(paging === 'limit' ? 4 : 24)
      },
    )
  }
}

for (const paging of ['since', 'before'] as const) {
  for (const zone of [-5, 2]) {
    sampledTest(
      (paging === 'since') === (zone === 2),
      `a reply is not sent twice if pages of a long conversation cannot be joined (${paging}, zone ${zone})`,
      async () => {
        const o = await createOutboxFixture({
          mirrored: false,
          size: { conversations: 1, visitors: 1, calls: 0, messagesPerConversation: [450, 450] },
          switches: {
            'messages.paging': paging,
            'messages.order': paging === 'since' ? 'oldest' : 'newest',
            'rows.zone': zone,
          },
        })
        o.sandbox.scriptFault({ kind: 'reset-after', operation: 'sendMessage' })
        await o.queue({ ...replyLine('Once.'), conversation_id: o.conversation(0) })
        await o.push({ verifyAfterMs: 50 })
        expect(performedWrites(o.sandbox)).toHaveLength(1)
      },
    )
  }
}

for (const ahead of [3, 199, 200]) {
  test(`a list that skips rows after message ${ahead} with a time ahead is not taken as complete`, async () => {
    const at = (minute: number) =>
      new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString().replace('.000', '')
    const rows = Array.from({ length: 450 }, (_, n) => ({
      id: n,
      createdAt: at(n === ahead ? 350 : n),
      kind: 'utterance',
    }))
    const deps = {
      projectId: ids.project,
      // Ordered by id, starting at a time.
      get: async (_path: string, { since = '' }: QueryParams) => {
        const [items, left] = [rows.filter(({ createdAt }) => createdAt >= String(since)), 200]
        const data = { items: items.slice(0, left), hasMore: items.length > left }
        return { data, status: 200, requestId: null, serverDate: null, requestedAt: 0 }
      },
      outbox: { readBehaviours: async () => new Map(), recordBehaviours: async () => {} },
      now: () => 0,
    } as unknown as WritebackDeps
    const { messages: shown, isComplete } = await readSnapshot(deps, ids.conversation, {
      isProven: true,
    })
    expect({ ahead, isTakenForAll: isComplete && shown.length < rows.length }).toEqual({
      ahead,
      isTakenForAll: false,
    })
  })
}
