/**
 * One conversation or visitor that the service refuses holds up no other; only a denied key stops
 * all.
 */
import { describe, expect, test } from 'vitest'
import type { Switches } from '../../src/sandbox/switches.ts'
import { createTestOnOne, sampled } from '../support/sampled.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  performedWrites,
  type RequestLine,
} from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

const answers: readonly Switches['refused.answer'][] = [
  'wrong-project',
  'invalid-key',
  'restricted',
  'gateway-403',
  'gateway-404',
  'gateway-405',
]
const lines: Readonly<Record<string, (o: OutboxFixture, n: number) => RequestLine>> = {
  message: (o, n) => ({
    operation: 'message',
    conversation_id: o.conversation(n),
    content: 'Once.',
    sender_name: 'Ann',
  }),
  handled: (o, n) => ({ operation: 'handled', conversation_id: o.conversation(n), handled: true }),
  visitor: (o, n) => ({ operation: 'visitor', visitor_id: o.visitor(n), name: `New ${n}` }),
  note: (o, n) => ({ operation: 'note', visitor_id: o.visitor(n), content: 'Called.' }),
}
const targetOf = (o: OutboxFixture, operation: string, n: number) =>
  operation === 'message' || operation === 'handled' ? o.conversation(n) : o.visitor(n)

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `six refused targets at the head fail with the service's words, and all others are sent (${database})`,
    async () => {
      const o = await createOutboxFixture({ database })
      const refused = [0, 1, 2, 3, 4, 5].map((n) => o.conversation(n))
      o.sandbox.setSwitches({
        'refused.paths': refused.join(','),
        'refused.answer': 'wrong-project',
      })
      await o.queue(...o.conversations().map((_, n) => lines.message!(o, n)))
      const report = await o.push()
      expect(report).toMatchObject({ outcome: 'done', settled: { failed: 6, succeeded: 6 } })
      const failed = (await o.all()).filter(({ status }) => status === 'failed')
      expect(failed).toMatchObject(
        refused.map((id) => ({
          conversationId: id,
          attempts: 0,
          error: expect.stringContaining(
            '403 api_key_wrong_project: The API key belongs to a different project',
          ),
        })),
      )
      expect(performedWrites(o.sandbox)).toHaveLength(6)
    },
  )
}

const sampledAnswers = sampled(answers, (_, index) => index % 2 === 0)

for (const answer of sampledAnswers)
  test(`a target that is refused (${answer}) fails alone, whatever is to be done with it`, async () => {
    const o = await createOutboxFixture()
    const operations = Object.keys(lines)
    const refused = operations.map((operation, n) => targetOf(o, operation, n))
    o.sandbox.setSwitches({ 'refused.paths': refused.join(','), 'refused.answer': answer })
    await o.queue(
      ...operations.flatMap((operation, n) => [
        lines[operation]!(o, n),
        lines[operation]!(o, n + 6),
      ]),
    )
    await o.push()
    expect(await o.statuses()).toEqual(operations.flatMap(() => ['failed', 'succeeded']))
  })

test('a reply whose answer was lost is uncertain if its conversation is refused then', async () => {
  for (const answer of sampledAnswers) {
    const o = await createOutboxFixture()
    const { scriptFault, setSwitches } = o.sandbox
    const path = o.conversation(0)
    const refuse = () => setSwitches({ 'refused.paths': path, 'refused.answer': answer })
    scriptFault({
      kind: 'reset-after',
      operation: 'sendMessage',
      path,
      // The next reading is the verification.
      before: () => scriptFault({ method: 'GET', path, before: refuse }),
    })
    await o.queue(lines.message!(o, 0), lines.message!(o, 1))
    await o.push()
    expect((await o.statuses()).toSorted()).toEqual(['succeeded', 'uncertain'])
    expect(performedWrites(o.sandbox)).toHaveLength(2)
  }
})

describe('a key that is denied', () => {
  for (const answer of sampled(
    ['wrong-project', 'invalid-key', 'gateway-403'] as const,
    (one) => one !== 'invalid-key',
  ))
    test(`leaves everything queued, and the message names the key (${answer})`, async () => {
      const o = await createOutboxFixture()
      o.sandbox.setSwitches({ 'refused.paths': '/public/', 'refused.answer': answer })
      await o.queue(...Object.values(lines).map((line, n) => line(o, n)))
      await expect(o.push()).rejects.toMatchObject({
        exitCode: 2,
        what: expect.stringContaining('denies the key'),
      })
      expect(new Set(await o.statuses())).toEqual(new Set(['queued']))
    })

  test('while a push runs fails none of what is left', async () => {
    const o = await createOutboxFixture({ switches: { 'latency.after': 20 } })
    await o.queue(...o.conversations().map((_, n) => lines.handled!(o, n)))
    const { scriptFault, revokeKey, key } = o.sandbox
    scriptFault({ operation: 'setHandled', skip: 2, before: () => revokeKey(key) })
    await o.push().catch(() => {})
    expect(new Set(await o.statuses())).toEqual(new Set(['succeeded', 'queued']))
  })
})

test('an address without this API leaves everything queued', async () => {
  const o = await createOutboxFixture()
  o.sandbox.setSwitches({ 'refused.paths': '/public/', 'refused.answer': 'gateway-404' })
  await o.queue(...Object.values(lines).map((line, n) => line(o, n)))
  await expect(o.push()).rejects.toMatchObject({
    exitCode: 2,
    what: expect.stringContaining('not served'),
  })
  expect(new Set(await o.statuses())).toEqual(new Set(['queued']))
})

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `targets that are refused as if a scope were missing wait with their reason, and all others are sent (${database})`,
    async () => {
      const o = await createOutboxFixture({ database })
      const refused = [0, 1, 2, 3, 4, 5].flatMap((n) => [o.conversation(n), o.visitor(n)])
      o.sandbox.setSwitches({
        'refused.paths': refused.join(','),
        'refused.answer': 'missing-scope',
      })
      await o.queue(...o.conversations().map((_, n) => lines.note!(o, n)))
      await o.queue(...o.conversations().map((_, n) => lines.message!(o, n)))
      const report = await o.push()
      expect(report).toMatchObject({ settled: { failed: 6, succeeded: 12 } })
      const all = await o.all()
      const reason = expect.stringContaining('api_key_scope_missing')
      // The service answers for the project's conversations, so they are refused alone; what writes
      // need, only writes show.
      const statuses = (operation: string) =>
        all.filter((row) => row.operation === operation).map(({ status }) => status)
      expect(statuses('message')).toEqual([
        ...Array(6).fill('failed'),
        ...Array(6).fill('succeeded'),
      ])
      expect(statuses('note')).toEqual([...Array(6).fill('queued'), ...Array(6).fill('succeeded')])
      for (const { status, error, reason: why } of all.filter(
        ({ status }) => status !== 'succeeded',
      ))
        expect(status === 'failed' ? error : why).toEqual(reason)
    },
  )
}

test('a key that lacks the scope is asked for some targets, and the others wait untouched', async () => {
  const keys = [{ key: 'svc_live_reads', scopes: ['visitors:read', 'conversations:read'] as const }]
  const o = await createOutboxFixture({ keys: [{ key: 'svc_live_all' }, ...keys] })
  await o.queue(...o.conversations().map((_, n) => lines.note!(o, n)))
  const report = await o.push({ apiKey: o.secret('svc_live_reads') })
  expect(report).toMatchObject({
    outcome: 'blocked',
    notices: [expect.stringMatching(/^visitor, note stay queued: .*visitors:write/)],
  })
  const rows = await o.all()
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['queued']))
  expect(rows.filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(0)
})

test('one that lacks the scope holds back its operations, and the others are sent', async () => {
  const keys = [{ key: 'svc_live_visitors', scopes: ['visitors:read', 'visitors:write'] as const }]
  const o = await createOutboxFixture({ keys: [{ key: 'svc_live_all' }, ...keys] })
  await o.queue(lines.message!(o, 0), lines.note!(o, 0))
  await o.push({ apiKey: o.secret('svc_live_visitors') })
  expect(await o.statuses()).toEqual(['queued', 'succeeded'])
})
