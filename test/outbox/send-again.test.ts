/**
 * A person says that a reply did not arrive, and sends it again: as others read it, the customer
 * may have it already.
 */
import { describe, expect } from 'vitest'
import { readWriteback } from '../../src/outbox/read-reports.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { createTestOnOne } from '../support/sampled.ts'
import {
  createOutboxFixture,
  type OutboxFixtureOptions,
  performedWrites,
} from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

/** The service signs replies, and the answer to the first one is lost, or its request. */
async function uncertainReply(
  options: OutboxFixtureOptions,
  kind: 'reset-after' | 'reset-before' = 'reset-after',
) {
  const o = await createOutboxFixture({ ...options, switches: { 'reply.text': 'signed' } })
  o.sandbox.advance(2000)
  o.sandbox.scriptFault({ kind, operation: 'sendMessage' })
  const line = {
    operation: 'message',
    conversation_id: o.conversation(0),
    content: 'It is on its way.',
    sender_name: 'Ann',
  }
  const [id = ''] = await o.queue(line)
  await o.push()
  expect(await o.statuses()).toEqual(['uncertain'])
  const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
  const decide = (decision: 'lost' | 'retried', by: string, approveOwn = true) =>
    outbox.decide(decision, { ids: [id] }, { by, approveOwn })
  return {
    ...o,
    outbox,
    id,
    line,
    decide,
    sent: () => performedWrites(o.sandbox, 'sendMessage').length,
  }
}

describe.each(['sqlite', 'postgres'] as const)(
  'a reply that may have arrived, in %s',
  (database) => {
    testOnOne(
      database,
      'stands in the mirror with the message that decided, as soon as it is uncertain',
      async () => {
        const o = await uncertainReply({ database })
        const { candidates } = await readWriteback(o.outbox, o.id)
        expect(candidates).toMatchObject([
          { isMirrored: true, content: expect.stringContaining('It is on its way.') },
        ])
        expect((await o.all())[0]?.error).toContain(`message ${candidates[0]?.id} is new`)
      },
    )

    testOnOne(
      database,
      'is not sent again while the message is there that may be it; whoever insists after that sends it',
      async () => {
        const o = await uncertainReply({ database })
        /** Whether it may have arrived once more than its status says, after each step. */
        const doubts: boolean[] = []
        const look = async () => doubts.push((await o.outbox.listInDoubt([o.id])).has(o.id))
        await look()
        await o.decide('lost', 'bea')
        await look()
        expect(await o.decide('retried', 'bea')).toMatchObject({ count: 1 })
        await look()
        await o.push()
        await look()
        expect(await o.all()).toMatchObject([
          {
            status: 'conflict',
            error: expect.stringMatching(/message \d+ has appeared since this was first sent/),
          },
        ])
        expect(o.sent()).toBe(1)
        await o.decide('retried', 'bea')
        await o.push()
        await look()
        expect([await o.statuses(), o.sent()]).toEqual([['succeeded'], 2])
        expect(doubts).toEqual([false, true, true, true, true])
      },
    )

    testOnOne(
      database,
      'is not sent again when it appears only after a person has said that it is not there',
      async () => {
        const o = await uncertainReply(
          { database, project: { resendReplies: false } },
          'reset-before',
        )
        await o.decide('lost', 'bea')
        await o.decide('retried', 'bea')
        o.sandbox.mutate.agentReplies(o.conversation(0), 'It is on its way. Your team', 'Support')
        await o.push()
        expect([await o.statuses(), o.sent()]).toEqual([['conflict'], 0])
      },
    )

    testOnOne(
      database,
      'is sent at once to another conversation, whose messages cannot be it',
      async () => {
        const o = await uncertainReply({ database })
        await o.warehouse.query(`update writebacks set ref = 'a'`)
        await o.decide('lost', 'bea')
        o.sandbox.mutate.agentReplies(o.conversation(1), 'We look into it.', 'Bo')
        await o.queue({ ...o.line, conversation_id: o.conversation(1), ref: 'a' })
        await o.push()
        expect([await o.statuses(), o.sent()]).toEqual([['succeeded'], 2])
      },
    )

    testOnOne(
      database,
      'is sent again by another person, where nobody approves their own',
      async () => {
        const o = await uncertainReply({ database })
        await o.warehouse.query(`update writebacks set created_by = 'Ünal'`)
        await o.decide('lost', 'ünal')
        expect(await o.decide('retried', 'ünal', false)).toMatchObject({ count: 0 })
        expect(await o.decide('retried', 'bea', false)).toMatchObject({ count: 1 })
        expect(await o.all()).toMatchObject([{ status: 'queued', approvedBy: 'bea' }])
      },
    )

    testOnOne(database, 'but one that the service refused is sent again by anybody', async () => {
      const o = await createOutboxFixture({ database })
      o.sandbox.scriptFault({ kind: 'status', operation: 'sendMessage' })
      o.sandbox.setSwitches({ 'fault.status': 422 })
      const [id = ''] = await o.queue({
        operation: 'message',
        conversation_id: o.conversation(0),
        content: 'A',
        sender_name: 'Ann',
      })
      await o.push()
      expect(await o.statuses()).toEqual(['failed'])
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const author = (await o.all())[0]?.createdBy ?? 'nobody'
      const terms = { by: author, approveOwn: false }
      expect(await outbox.decide('retried', { ids: [id] }, terms)).toMatchObject({ count: 1 })
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded'])
      expect(await outbox.listInDoubt([id])).toEqual(new Set())
    })
  },
)
