/**
 * A review equals what then happens, row by row; where the service moved since the mirror was read,
 * the send gives way.
 */

import { expect, test } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createOutboxFixture, syncTargets } from './outbox-fixture.ts'
import {
  actualEffects,
  createMixedRows,
  createPlainRows,
  expectedEffect,
  queueBatch,
  reviewLines,
  reviewQueued,
} from './review-scenario.ts'

const testOnOne = createTestOnOne()

test('120 rows do what the review of the file and of the batch say', async () => {
  const fixture = await createOutboxFixture({
    size: { conversations: 20, messagesPerConversation: [1, 4], visitors: 15, calls: 1 },
  })
  const ahead = createPlainRows(fixture)
  await fixture.queue(...ahead)
  const rows = createMixedRows(fixture, 120)
  const ofFile = await reviewLines(fixture, rows)
  await queueBatch(fixture, rows)
  const ofBatch = await reviewQueued(fixture)
  expect(ofBatch.reviews.map(({ id: _, ...review }) => review)).toEqual(
    ofFile.reviews.map(({ id: _, ...review }) => review),
  )
  await fixture.push({ despiteFailures: true })
  expect((await actualEffects(fixture)).slice(ahead.length)).toEqual(
    ofFile.reviews.map(expectedEffect),
  )
  expect(Object.values(ofFile.summary.counts).every((count) => count > 0)).toBe(true)
  expect((await reviewQueued(fixture)).summary.rows).toBe(0)
})

for (const { name } of databases) {
  const database = name === 'postgres' ? 'postgres' : 'sqlite'

  testOnOne(
    name,
    `a system event may be the last message that a person saw (${name})`,
    async () => {
      const fixture = await createOutboxFixture({ database, switches: { 'reply.kind': 'event' } })
      const { sandbox, conversation } = fixture
      sandbox.advance(2000)
      const events = [0, 1].map((n) =>
        sandbox.mutate.replyArrives(conversation(n), 'Transferred.', 'Ann'),
      )
      sandbox.advance(2000)
      sandbox.mutate.visitorWrites(conversation(1), 'One more thing.')
      await syncTargets(fixture.instance.url!, sandbox)
      const rows = events.map(({ id }, n) => ({
        operation: 'message',
        conversation_id: conversation(n),
        content: 'Hello.',
        sender_name: 'Ann',
        expect: String(id),
      }))
      const { reviews } = await reviewLines(fixture, rows)
      await fixture.queue(...rows)
      await fixture.push()
      expect(await fixture.statuses()).toEqual(['succeeded', 'conflict'])
      expect(await actualEffects(fixture)).toEqual(reviews.map(expectedEffect))
    },
  )

  testOnOne(
    name,
    `a review tells what the mirror has seen since the rows were queued, and a send gives way to what it has not (${name})`,
    async () => {
      const fixture = await createOutboxFixture({ database })
      const { sandbox } = fixture
      const [conversations, visitors] = [fixture.conversations(), fixture.visitors()]
      const conversation = (n: number) => conversations[n]!
      const visitor = (n: number) => visitors[n]!
      sandbox.advance(5000)
      const correct = (n: number) => ({
        operation: 'visitor',
        visitor_id: visitor(n),
        name: 'Ada Q. Example',
      })
      const handle = (n: number, handled = true) => ({
        operation: 'handled',
        conversation_id: conversation(n),
        handled,
      })
      for (const n of [0, 1, 2, 3, 4]) sandbox.mutate.setHandled(conversation(n), false)
      await syncTargets(fixture.instance.url!, sandbox)
      await queueBatch(fixture, [
        handle(0),
        handle(1),
        handle(2),
        handle(3),
        handle(4, false),
        correct(0),
        correct(1),
        correct(2),
      ])
      sandbox.mutate.visitorWrites(conversation(0), 'One more thing.')
      sandbox.mutate.setHandled(conversation(1), true)
      sandbox.mutate.deleteConversation(conversation(2))
      sandbox.mutate.setHandled(conversation(4), true)
      sandbox.mutate.renameVisitor(visitor(0), 'Eve', null)
      sandbox.mutate.renameVisitor(visitor(1), 'Ada Q. Example', null)
      await syncTargets(fixture.instance.url!, sandbox, 'full')
      const { reviews } = await reviewQueued(fixture)
      expect(reviews.map(({ outcome, why }) => `${outcome}: ${why}`)).toEqual([
        expect.stringMatching(/^stands_against: a visitor wrote at /),
        'already_so: null',
        'stands_against: the service no longer has this conversation',
        'would_change: null',
        'would_change: null',
        'stands_against: someone changed the name since it was queued',
        'stands_against: it is there already, and has been set since it was queued',
        'would_change: null',
      ])
      const expected = reviews.map(expectedEffect)
      sandbox.mutate.visitorWrites(conversation(3), 'And another one.')
      await fixture.push({ despiteFailures: true })
      expect(await actualEffects(fixture)).toEqual(expected.with(3, 'not sent'))
    },
  )
}

test('a flag that was approved before its reply stands against it, as it then does when it is sent', async () => {
  const fixture = await createOutboxFixture()
  const { sandbox, warehouse } = fixture
  const conversation_id = fixture.conversation(0)
  const admin = createOutbox(warehouse.projectDb(sandbox.projectId))
  await queueBatch(fixture, [
    { operation: 'message', conversation_id, content: 'Done.', sender_name: 'Ann' },
    { operation: 'handled', conversation_id, handled: true },
  ])
  await warehouse.query(`update writebacks set status = 'draft'`)
  const outcomes = async () =>
    (await reviewQueued(fixture)).reviews.map(({ outcome, reason }) => [outcome, reason])
  const asDrafts = await outcomes()
  expect(asDrafts).toEqual([
    ['would_send', null],
    ['would_change', null],
  ])
  await admin.decide('approved', { operations: ['handled'] }, { by: 'bea' })
  expect(await outcomes()).toEqual([
    ['would_send', null],
    ['stands_against', 'reply_not_sent'],
  ])
  await fixture.push()
  expect(await fixture.statuses()).toEqual(['draft', 'conflict'])
})
