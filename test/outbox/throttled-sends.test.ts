/**
 * A 429 after a write: the documented one says that nothing was done; what shows otherwise forbids
 * another send.
 */
import { expect, test } from 'vitest'
import { listBatches } from '../../src/app/batches.ts'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { configOf } from '../mirror/sync/sync-sandbox.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { createTestOnOne, sampledTest } from '../support/sampled.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

const quick = { rate: { requests: 1e9, windowMs: 500 }, verifyAfterMs: 100 }
const line = (conversation: string) => ({
  operation: 'message',
  conversation_id: conversation,
  content: 'Tom & Jerry   are on their way to you',
  sender_name: 'Ann',
})

const forms: readonly (readonly [Partial<Switches>, string])[] = [
  [{}, 'conflict'],
  [{ 'reply.text': 'trimmed' }, 'conflict'],
  [{ 'reply.text': 'signed' }, 'uncertain'],
  [{ 'reply.text': 'escaped' }, 'uncertain'],
  [{ 'reply.text': 'redacted', 'reply.kind': 'event' }, 'uncertain'],
  [{ 'reply.name': 'team' }, 'uncertain'],
  [{ 'reply.late': 30_000 }, 'uncertain'],
]

async function expectSentOnce(
  kind: 'foreign-429-after' | 'html-429-after',
  switches: Partial<Switches>,
  becomes: string,
) {
  const o = await createOutboxFixture({ switches, project: quick })
  o.sandbox.scriptFault({ kind, operation: 'sendMessage' })
  await o.queue(line(o.conversation(0)))
  await o.push()
  expect(await o.statuses()).toEqual([becomes])
  expect(performedWrites(o.sandbox)).toHaveLength(1)
}

// Each form with one of the two kinds.
for (const kind of ['foreign-429-after', 'html-429-after'] as const)
  for (const [n, [switches, becomes]] of forms.entries())
    sampledTest(
      (n % 2 === 0) === (kind === 'html-429-after'),
      `a reply that arrived although it was answered 429 is not sent again (${kind}, ${JSON.stringify(switches)})`,
      () => expectSentOnce(kind, switches, becomes),
    )

/** The gateway had passed the reply on, and nothing shows it until the time is over. */
const hiddenForAWhile = {
  'fault.retryAfter': 3,
  'reply.late': 3000,
  'reply.shows': 'nothing',
} as const

for (const kind of ['foreign-429-after', 'html-429-after'] as const)
  for (const [text, becomes] of [
    ['as-sent', 'conflict'],
    ['signed', 'uncertain'],
  ] as const)
    sampledTest(
      (text === 'signed') === (kind === 'html-429-after'),
      `a reply that nothing shows until Retry-After has passed is not sent again (${kind}, ${text})`,
      () => expectSentOnce(kind, { ...hiddenForAWhile, 'reply.text': text }, becomes),
    )

test('a reply that was answered 503, and that nothing shows until Retry-After has passed, is not sent again', async () => {
  const switches = { ...hiddenForAWhile, 'fault.status': 503 }
  const o = await createOutboxFixture({ switches, project: quick })
  o.sandbox.scriptFault({ kind: 'status-after', operation: 'sendMessage' })
  await o.queue(line(o.conversation(0)))
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
  expect(performedWrites(o.sandbox)).toHaveLength(1)
})

test('the row itself waits until Retry-After has passed, as the record of the pause may be lost', async () => {
  const o = await createOutboxFixture({ switches: { 'fault.retryAfter': 600 }, project: quick })
  o.sandbox.scriptFault({ kind: 'html-429', operation: 'sendMessage' })
  const startedAt = Date.now()
  await o.queue(line(o.conversation(0)))
  const stopped = new AbortController()
  const pushed = o.push({ signal: stopped.signal })
  const rows = () => o.warehouse.query(`select due_at from writebacks where status = 'queued'`)
  await expect.poll(() => o.sandbox.counts().byFault['html-429']).toBe(1)
  await expect.poll(rows).toEqual([{ due_at: expect.toSatisfy((at) => at >= startedAt + 600_000) }])
  stopped.abort()
  await pushed
})

test('a visitor who writes during the pause does not hold up the reply', async () => {
  const o = await createOutboxFixture({ project: quick })
  o.sandbox.scriptFault({
    kind: 'foreign-429',
    operation: 'sendMessage',
    before: () => o.sandbox.mutate.visitorWrites(o.conversation(0), 'Are you there?'),
  })
  await o.queue(line(o.conversation(0)))
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
})

/** Pages of two messages, and no way to the others. */
const unreadable: Partial<Switches> = {
  'messages.page': 2,
  'messages.limit': 'ignored',
  'messages.paging': 'limit',
}
const pauses: readonly (readonly [
  string,
  Partial<Switches>,
  readonly ('visitor' | 'reply')[],
  string,
])[] = [
  [
    'a visitor who wrote before it explains nothing',
    { 'reply.late': 30_000 },
    ['visitor', 'reply'],
    'uncertain',
  ],
  [
    'the list shows only the oldest',
    { ...unreadable, 'messages.order': 'oldest' },
    ['reply'],
    'uncertain',
  ],
  [
    'a visitor wrote after it',
    { ...unreadable, 'messages.order': 'oldest' },
    ['reply', 'visitor'],
    'uncertain',
  ],
  ['nothing moved', { ...unreadable, 'messages.order': 'oldest' }, [], 'succeeded'],
]

for (const [what, switches, writes, becomes] of pauses)
  test(`a reply that was answered 429, and that the list may hide, is ${becomes}: ${what}`, async () => {
    const o = await createOutboxFixture({ project: quick, switches })
    const reply = line(o.conversation(0))
    const { scriptFault, mutate } = o.sandbox
    const write = (who: 'visitor' | 'reply') =>
      who === 'visitor'
        ? mutate.visitorWrites(o.conversation(0), 'Are you there?')
        : mutate.replyArrives(o.conversation(0), reply.content, reply.sender_name)
    scriptFault({
      kind: 'foreign-429',
      operation: 'sendMessage',
      before: () => writes.forEach(write),
    })
    for (const words of ['Hello?', 'It is urgent.']) mutate.visitorWrites(o.conversation(0), words)
    // Times have whole seconds.
    o.sandbox.advance(1000)
    await o.queue(reply)
    await o.push()
    expect(await o.statuses()).toEqual([becomes])
    expect(performedWrites(o.sandbox)).toHaveLength(becomes === 'succeeded' ? 1 : 0)
  })

for (const [kind, becomes] of [
  ['foreign-429', 'succeeded'],
  ['html-429', 'uncertain'],
  ['html-429-after', 'uncertain'],
] as const)
  test(`a note that was answered 429 (${kind}) is ${becomes}`, async () => {
    const o = await createOutboxFixture({ project: quick })
    o.sandbox.scriptFault({ kind, operation: 'addNote' })
    await o.queue({ operation: 'note', visitor_id: o.visitor(0), content: 'Once.' })
    await o.push()
    expect(await o.statuses()).toEqual([becomes])
  })

for (const shows of ['reopened', 'all'] as const)
  test(`a reply that its conversation shows (${shows}) and the list hides is not sent again`, async () => {
    const o = await createOutboxFixture({
      project: quick,
      switches: { 'reply.late': 30_000, 'reply.shows': shows },
    })
    const [c] = o.conversations() as [string]
    o.sandbox.mutate.setHandled(c, true)
    o.sandbox.scriptFault({ kind: 'reset-after', operation: 'sendMessage' })
    await o.queue(line(c))
    await o.push()
    expect(await o.statuses()).toEqual(['uncertain'])
    expect(performedWrites(o.sandbox)).toHaveLength(1)
  })

for (const stores of ['one-space', 'lower-case', 'untagged', 'empty'] as const)
  test(`its own correction that the service stores in another form (${stores}) is no change by someone else`, async () => {
    const o = await createOutboxFixture({ switches: { 'visitors.stores': stores } })
    const correction = (fields: object) => ({
      operation: 'visitor',
      visitor_id: o.visitor(0),
      ...fields,
    })
    await o.queue(
      correction({ name: 'Ada  King', email: 'Ada+Shop@example.org' }),
      correction({ name: null, email: null }),
      correction({ name: 'Bea', email: 'bea+shop@example.org' }),
      correction({ email: null }),
    )
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
  })

for (const database of ['sqlite', 'postgres'] as const)
  testOnOne(
    database,
    `a pause that the service asked for is seen by the status and by batches (${database})`,
    async () => {
      const o = await createOutboxFixture({ database })
      const context = o.warehouse.projectDb(o.sandbox.projectId)
      await o.queue({ operation: 'note', visitor_id: o.visitor(0), content: 'Once.' })
      await o.warehouse.query(`update writebacks set batch_id = 'notes'`)
      const until = Math.floor(Date.now() / 1000) * 1000 + 3_600_000
      await o.warehouse.query(`insert into budget_pauses (project_id, kind, from_ms, to_ms)
      values ('${o.sandbox.projectId}', 'throttled', ${until - 3_601_000}, ${until})`)
      const { budget } = await readStatus(context, Date.now(), usualPolicy)
      expect(Date.parse(budget.pausedUntil!)).toBe(until)
      const { batches } = await listBatches(configOf(o.instance.url!, o.project), o.project, {
        limit: 5,
      })
      expect(batches[0]?.estimate).toMatchObject({
        restsBecause: expect.stringContaining('429'),
        takesMs: expect.toSatisfy((ms: number) => ms > 3_500_000),
      })
    },
  )
