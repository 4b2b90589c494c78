/** A review equals what then happens, row by row; where the service moved meanwhile, a check names the difference. */

import { expect, test } from 'vitest'
import { describeDeviation } from '../../src/outbox/core/review-labels.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { createOutboxFixture } from './outbox-fixture.ts'
import {
  actualEffects,
  checkQueued,
  compareQueued,
  createMixedRows,
  createPlainRows,
  expectedEffect,
  queueBatch,
  reviewLines,
  reviewQueued,
} from './review-scenario.ts'

test('120 rows do what the review of the file and of the batch say', async () => {
  const fixture = await createOutboxFixture({ size: { conversations: 20, visitors: 15, calls: 1 } })
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
  expect((await actualEffects(fixture)).slice(ahead.length)).toEqual(ofFile.reviews.map(expectedEffect))
  expect(Object.values(ofFile.summary.counts).every((count) => count > 0)).toBe(true)
  expect((await reviewQueued(fixture)).summary.rows).toBe(0)
})

for (const { name } of databases) {
  const database = name === 'postgres' ? 'postgres' : 'sqlite'

  test(`a system event may be the last message that a person saw (${name})`, async () => {
    const fixture = await createOutboxFixture({ database, switches: { 'reply.kind': 'event' } })
    const { sandbox, conversation } = fixture
    sandbox.advance(2000)
    const events = [0, 1].map((n) => sandbox.mutate.replyArrives(conversation(n), 'Transferred.', 'Ann'))
    sandbox.advance(2000)
    sandbox.mutate.visitorWrites(conversation(1), 'One more thing.')
    await syncOnce(fixture.instance.url!, sandbox)
    const rows = events.map(({ id }, n) => ({
      ...{ operation: 'message', conversation_id: conversation(n), content: 'Hello.', sender_name: 'Ann' },
      expect: String(id),
    }))
    const { reviews } = await reviewLines(fixture, rows)
    await fixture.queue(...rows)
    await fixture.push()
    expect(await fixture.statuses()).toEqual(['succeeded', 'conflict'])
    expect(await actualEffects(fixture)).toEqual(reviews.map(expectedEffect))
  })

  test(`a check names what moved since, is void once the row has changed, and is compared with what happened (${name})`, async () => {
    const fixture = await createOutboxFixture({ database })
    const { sandbox } = fixture
    const [conversations, visitors] = [fixture.conversations(), fixture.visitors()]
    const conversation = (n: number) => conversations[n]!
    const visitor = (n: number) => visitors[n]!
    sandbox.advance(5000)
    const correct = (n: number) => ({ operation: 'visitor', visitor_id: visitor(n), name: 'Ada Q. Example' })
    const handle = (n: number, handled = true) => ({ operation: 'handled', conversation_id: conversation(n), handled })
    for (const n of [0, 1, 2, 3, 4]) sandbox.mutate.setHandled(conversation(n), false)
    await syncOnce(fixture.instance.url!, sandbox)
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
    await checkQueued(fixture)
    const { summary, reviews } = await reviewQueued(fixture)
    expect(reviews.map(({ check }) => check?.differs)).toEqual([true, true, true, false, true, true, true, false])
    expect(summary.checks).toMatchObject({ rows: 8, differing: 6 })
    expect(reviews.flatMap(({ check }) => (check?.differs ? [`${check.outcome}: ${check.why}`] : []))).toEqual([
      expect.stringMatching(/^stands_against: a visitor wrote at /),
      'already_so: null',
      'stands_against: no such conversation',
      'would_change: null',
      'stands_against: someone changed the name since it was queued',
      'stands_against: it is there already, and has been set since it was queued',
    ])
    await fixture.warehouse.query(
      `update writebacks set payload = '{"name":"Grace"}' where visitor_id = '${visitor(2)}'`,
    )
    expect((await reviewQueued(fixture)).summary.checks).toMatchObject({ rows: 7, differing: 6 })
    const expected = reviews.map(({ check, operation }) => expectedEffect({ ...check!, operation }))
    await fixture.warehouse.query(
      `update writebacks set payload = '{"name":"Ada Q. Example"}' where visitor_id = '${visitor(2)}'`,
    )
    await syncOnce(fixture.instance.url!, sandbox, { mode: 'full' })
    const afterSync = await reviewQueued(fixture)
    expect(afterSync.reviews.map(expectedEffect)).toEqual(expected)
    sandbox.mutate.visitorWrites(conversation(3), 'And another one.')
    await fixture.push({ despiteFailures: true })
    expect(await actualEffects(fixture)).toEqual(expected.with(3, 'not sent'))
    const checked = await compareQueued(fixture)
    expect(checked).toMatchObject({ rows: 8, differing: 1 })
    expect(checked.samples.map(({ writeback, deviation }) => describeDeviation(deviation, writeback))).toEqual([
      expect.stringMatching(/^the check: would change, open → handled; then: conflict, a visitor wrote at /),
    ])
  })
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
  const outcomes = async () => (await reviewQueued(fixture)).reviews.map(({ outcome, reason }) => [outcome, reason])
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
