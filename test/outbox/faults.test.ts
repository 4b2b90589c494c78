/**
 * Faults between request and response: the recorded outcome is correct, and nothing arrives twice.
 */

import { expect, test } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import type { FaultKind } from '../../src/sandbox/faults.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  performedWrites,
  type RequestLine,
} from './outbox-fixture.ts'

type Case = {
  readonly operation: 'sendMessage' | 'setHandled' | 'updateVisitor'
  readonly line: (o: OutboxFixture, n: number) => RequestLine
}

const cases: readonly Case[] = [
  {
    operation: 'sendMessage',
    line: (o, n) => ({
      operation: 'message',
      conversation_id: o.conversation(n),
      content: 'Once.',
      sender_name: 'Ann',
    }),
  },
  {
    operation: 'setHandled',
    line: (o, n) => ({ operation: 'handled', conversation_id: o.conversation(n), handled: true }),
  },
  {
    operation: 'updateVisitor',
    line: (o, n) => ({ operation: 'visitor', visitor_id: o.visitor(n), name: `New ${n}` }),
  },
]

const verifiable = [
  ...([
    'reset-before',
    'reset-after',
    'error-500',
    'error-500-after',
    'html-502',
    'html-502-after',
    'busy-503',
  ] as const),
  ...(['busy-503-retry-after', 'truncated', 'not-json', 'slow', 'foreign-429'] as const),
]

const quickFaults = {
  switches: { 'fault.slowMs': 300 },
  project: { rate: { requests: 1e9, windowMs: 500 }, verifyAfterMs: 100 },
}

for (const { operation, line } of cases) {
  test(`${operation}: arrives under every fault, a reply exactly once, and succeeds`, async () => {
    const o = await createOutboxFixture(quickFaults)
    for (const kind of verifiable) o.sandbox.scriptFault({ kind, operation })
    // A flag that was so before is done when it is so after two sends.
    for (const id of o.conversations()) o.sandbox.mutate.setHandled(id, false)
    await o.queue(...verifiable.map((_, n) => line(o, n)))
    await o.push()
    expect(await o.all()).toMatchObject(verifiable.map(() => ({ status: 'succeeded' })))
    const writes = performedWrites(o.sandbox, operation)
    const targets = new Set(writes.map(({ params }) => params.conversationId ?? params.visitorId))
    expect(targets.size).toBe(verifiable.length)
    if (operation === 'sendMessage') expect(writes).toHaveLength(verifiable.length)
  })
}

/** The status of a note after a fault, and how often the service stored it. */
const notes = {
  'reset-before': ['uncertain', 0],
  'reset-after': ['uncertain', 1],
  'html-502': ['uncertain', 0],
  truncated: ['uncertain', 1],
  // The documented 429 says that nothing was done.
  'foreign-429': ['succeeded', 1],
  'foreign-429-after': ['succeeded', 2],
  'html-429-after': ['uncertain', 1],
  slow: ['succeeded', 1],
  redirect: ['uncertain', 0],
  status: ['uncertain', 0],
  'status-after': ['uncertain', 1],
  'says-failed-after': ['uncertain', 1],
} as const satisfies Partial<Record<FaultKind, readonly [string, number]>>

test('a note, which cannot be read back, is uncertain unless its outcome is known', async () => {
  const o = await createOutboxFixture(quickFaults)
  for (const kind of Object.keys(notes) as FaultKind[])
    o.sandbox.scriptFault({ kind, operation: 'addNote' })
  await o.queue(
    ...Object.keys(notes).map((_, n) => ({
      operation: 'note',
      visitor_id: o.visitor(n),
      content: 'Once.',
    })),
  )
  await o.push({ despiteFailures: true })
  const outcomes = Object.values(notes).map(([status]) => status)
  expect((await o.statuses()).toSorted()).toEqual(outcomes.toSorted())
  expect(performedWrites(o.sandbox)).toHaveLength(
    Object.values(notes).reduce((sum, [, times]) => sum + times, 0),
  )
})

test('a conflict of what was sent before says that it may have been done then', async () => {
  const o = await createOutboxFixture(quickFaults)
  const visitor = o.visitor(0)
  const c = o.conversation(0)
  const d = o.conversation(1)
  const { scriptFault, mutate } = o.sandbox
  scriptFault({ kind: 'reset-after', operation: 'updateVisitor' })
  scriptFault({
    operation: 'getVisitor',
    skip: 1,
    before: () => mutate.renameVisitor(visitor, 'Augusta', null),
  })
  scriptFault({
    kind: 'reset-before',
    operation: 'setHandled',
    before: () => mutate.visitorWrites(c, 'Wait!'),
  })
  scriptFault({ kind: 'foreign-429-after', operation: 'sendMessage' })
  await o.queue(
    { operation: 'visitor', visitor_id: visitor, name: 'Ada' },
    { operation: 'handled', conversation_id: c, handled: true },
    { operation: 'message', conversation_id: d, content: 'Once.', sender_name: 'Ann' },
  )
  await o.push()
  expect(performedWrites(o.sandbox)).toHaveLength(2)
  const mayHaveBeenDone = {
    status: 'conflict',
    reason: expect.stringContaining('may have been done then'),
  }
  expect(await o.all()).toMatchObject([mayHaveBeenDone, mayHaveBeenDone, mayHaveBeenDone])
})

test.each(['sendMessage', 'addNote'] as const)(
  '%s: a 200 whose data is null proves nothing',
  async (operation) => {
    const o = await createOutboxFixture({
      ...quickFaults,
      switches: { ...quickFaults.switches, 'writes.body': 'null' },
    })
    const line =
      operation === 'addNote'
        ? { operation: 'note', visitor_id: o.visitor(0) }
        : cases[0]?.line(o, 0)
    await o.queue({ ...line, content: 'Once.' })
    await o.push()
    expect(await o.all()).toMatchObject([
      operation === 'addNote'
        ? {
            status: 'uncertain',
            reason: expect.stringContaining('200 with data that is no object'),
          }
        : { status: 'succeeded', reason: expect.stringContaining('proved nothing (200)') },
    ])
  },
)

test('what proved the outcome of the last send is said, not the answer to an earlier one', async () => {
  const o = await createOutboxFixture(quickFaults)
  o.sandbox.scriptFault({ kind: 'error-500', operation: 'sendMessage' })
  o.sandbox.scriptFault({ kind: 'reset-after', operation: 'sendMessage' })
  await o.queue({
    operation: 'message',
    conversation_id: o.conversation(1),
    content: 'Once.',
    sender_name: 'Ann',
  })
  await o.push()
  expect(await o.all()).toMatchObject([
    { status: 'succeeded', attempts: 2, reason: expect.stringMatching(/^no response came, but/) },
  ])
})

test('what was so before, and stays so when it is sent twice, is done, though no answer proves it', async () => {
  const o = await createOutboxFixture({ ...quickFaults, switches: { 'writes.body': 'null' } })
  const [c, visitor] = [o.conversation(0), o.visitor(0)]
  o.sandbox.mutate.setHandled(c, true)
  o.sandbox.mutate.renameVisitor(visitor, 'Ada', null)
  await o.queue(
    { operation: 'handled', conversation_id: c, handled: true },
    { operation: 'visitor', visitor_id: visitor, name: 'Ada', email: null },
  )
  await o.warehouse.query('update writebacks set target_snapshot = null')
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  expect(performedWrites(o.sandbox)).toHaveLength(4)
})

test('an uncertain write-back blocks its lane and no other', async () => {
  const o = await createOutboxFixture()
  o.sandbox.scriptFault({ kind: 'reset-after', operation: 'addNote' })
  const [first] = await o.queue(
    { operation: 'note', visitor_id: o.visitor(1), content: 'one' },
    { operation: 'visitor', visitor_id: o.visitor(1), name: 'Behind' },
    { operation: 'visitor', visitor_id: o.visitor(2), name: 'Beside' },
  )
  expect(await o.push()).toMatchObject({ blockedLanes: 1 })
  expect(await o.statuses()).toEqual(['uncertain', 'queued', 'succeeded'])
  await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).decide(
    'arrived',
    { ids: [first!] },
    { by: 'a test' },
  )
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
})

test('a reply that two verifications did not find is uncertain if resend_replies is off', async () => {
  const o = await createOutboxFixture({ project: { resendReplies: false } })
  o.sandbox.scriptFault({ kind: 'reset-before', operation: 'sendMessage' })
  await o.queue({
    operation: 'message',
    conversation_id: o.conversation(1),
    content: 'Once.',
    sender_name: 'Ann',
  })
  await o.push()
  expect(await o.statuses()).toEqual(['uncertain'])
})

test('identical replies in one conversation are each matched to their own message', async () => {
  const o = await createOutboxFixture()
  const thanks = {
    operation: 'message',
    conversation_id: o.conversation(1),
    content: 'Thanks!',
    sender_name: 'Ann',
  }
  for (const skip of [0, 1, 3])
    o.sandbox.scriptFault({
      kind: skip === 1 ? 'reset-before' : 'reset-after',
      operation: 'sendMessage',
      skip,
    })
  await o.queue(thanks, thanks, thanks, thanks)
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
  expect(performedWrites(o.sandbox)).toHaveLength(4)
  expect(new Set((await o.all()).map(({ messageId }) => messageId)).size).toBe(4)
})

test('every transition is in the event log, with request ids', async () => {
  const o = await createOutboxFixture()
  o.sandbox.scriptFault({ kind: 'error-500', operation: 'setHandled' })
  const [id] = await o.queue({
    operation: 'handled',
    conversation_id: o.conversation(1),
    handled: true,
  })
  await o.push()
  const log = await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).listEvents(id!)
  expect(log.map(({ from, to }) => `${from} → ${to}`)).toEqual([
    'null → queued',
    'queued → sending',
    'sending → sending',
    'sending → sending',
    'sending → queued',
    'queued → sending',
    'sending → succeeded',
  ])
  const asked = new Set(o.sandbox.log().map(({ requestId }) => requestId))
  expect(asked.has(log[2]!.requestId!) && asked.has(log[6]!.requestId!)).toBe(true)
})

test('a reply that shows with another text or name is not resent but uncertain', async () => {
  const variants = [
    ['Tom &amp; Jerry are on their way to you', 'Ann'],
    ['Tom & Jerry are on their way to you', 'Ann of Support'],
  ] as const
  for (const [content, name] of variants) {
    const o = await createOutboxFixture({ mirrored: false })
    const [c] = o.conversations() as [string]
    o.sandbox.scriptFault({
      kind: 'reset-before',
      operation: 'sendMessage',
      before: () => o.sandbox.mutate.agentReplies(c, content, name),
    })
    await o.queue({
      operation: 'message',
      conversation_id: c,
      content: 'Tom & Jerry are on their way to you',
      sender_name: 'Ann',
    })
    await o.push()
    expect(await o.all()).toMatchObject([
      { status: 'uncertain', error: expect.stringMatching(/is new in the conversation/) },
    ])
    expect(performedWrites(o.sandbox)).toEqual([])
  }
})

for (const who of ['a colleague', 'the visitor'] as const) {
  test(`a reply that is not found is uncertain if ${who} has written since`, async () => {
    const o = await createOutboxFixture({ mirrored: false })
    const [c] = o.conversations() as [string]
    const text = 'Can you tell me the number of the order?'
    const { scriptFault, mutate } = o.sandbox
    scriptFault({
      kind: 'reset-before',
      operation: 'sendMessage',
      before: () =>
        who === 'a colleague' ? mutate.agentReplies(c, text, 'Bo') : mutate.visitorWrites(c, text),
    })
    await o.queue({
      operation: 'message',
      conversation_id: c,
      content: 'Your parcel left today.',
      sender_name: 'Ann',
    })
    await o.push()
    expect(await o.statuses()).toEqual(['uncertain'])
    expect(performedWrites(o.sandbox)).toEqual([])
  })
}

test('a reply without a response is uncertain if the service silently lists only the first messages', async () => {
  const o = await createOutboxFixture({
    size: { conversations: 3, messagesPerConversation: [5, 6], visitors: 1, days: 2 },
    switches: {
      'messages.paging': 'before',
      'messages.order': 'oldest',
      hasMore: 'always',
      'pages.size': 3,
    },
  })
  const faults = ['error-500-after', 'error-500-after', 'reset-before'] as const
  for (const kind of faults) o.sandbox.scriptFault({ kind, operation: 'sendMessage' })
  const reply = { operation: 'message', content: 'Once.', sender_name: 'Ann' }
  await o.queue(...o.conversations().map((id) => ({ ...reply, conversation_id: id })))
  await o.push()
  expect(await o.statuses()).toEqual(['uncertain', 'uncertain', 'uncertain'])
  expect(performedWrites(o.sandbox)).toHaveLength(2)
})
