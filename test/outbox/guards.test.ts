/** The checks before a send: newer changes are never overwritten. */

import { describe, expect, test } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createOutboxFixture, performedWrites, syncTargets } from './outbox-fixture.ts'

test('the mirror knows a target also by its id in upper case, so newer changes are noticed', async () => {
  const o = await createOutboxFixture()
  o.sandbox.advance(2000)
  await o.queue(
    { operation: 'visitor', visitor_id: o.visitor(0).toUpperCase(), name: 'Ours' },
    { operation: 'handled', conversation_id: o.conversation(0).toUpperCase(), handled: true },
  )
  o.sandbox.mutate.renameVisitor(o.visitor(0), 'Theirs', null)
  o.sandbox.mutate.visitorWrites(o.conversation(0), 'One more thing.')
  await o.push()
  expect(await o.statuses()).toEqual(['conflict', 'conflict'])
})

test('a service that has ids in upper case, and no others, gets them so, however they were written', async () => {
  const o = await createOutboxFixture({ switches: { 'ids.letters': 'upper' } })
  o.sandbox.advance(2000)
  await o.queue(
    { operation: 'visitor', visitor_id: o.visitor(0).toLowerCase(), name: 'Ours' },
    { operation: 'handled', conversation_id: o.conversation(0).toLowerCase(), handled: true },
    {
      operation: 'message',
      conversation_id: o.conversation(1),
      content: 'Hello.',
      sender_name: 'Ann',
    },
  )
  await o.warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload)
    values ('${o.sandbox.projectId}', 'handled', '${o.conversation(2).toLowerCase()}', '{"handled":true}')`)
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
})

describe('a conversation is marked handled', () => {
  test('only if no visitor has written since the mirrored state', async () => {
    const o = await createOutboxFixture()
    o.sandbox.advance(2000)
    await o.queue(
      { operation: 'handled', conversation_id: o.conversation(0), handled: true },
      { operation: 'handled', conversation_id: o.conversation(1), handled: true },
    )
    o.sandbox.mutate.visitorWrites(o.conversation(0), 'One more thing.')
    o.sandbox.mutate.agentReplies(o.conversation(1), 'Done.', 'Bo')
    await o.push()
    expect(await o.all()).toMatchObject([
      { status: 'conflict', error: expect.stringMatching(/a visitor wrote at/) },
      { status: 'succeeded' },
    ])
    expect(performedWrites(o.sandbox)).toHaveLength(1)
  })

  test('not if a visitor wrote and an agent answered since, as the visitor’s message was not seen', async () => {
    const o = await createOutboxFixture()
    o.sandbox.advance(2000)
    await o.queue({ operation: 'handled', conversation_id: o.conversation(0), handled: true })
    o.sandbox.mutate.visitorWrites(o.conversation(0), 'Wait!')
    o.sandbox.mutate.agentReplies(o.conversation(0), 'Hm?', 'Bo')
    await o.push()
    expect(await o.statuses()).toEqual(['conflict'])
  })

  test('if a person names the last message, even if the mirror does not have it', async () => {
    const o = await createOutboxFixture()
    o.sandbox.advance(2000)
    const [first, second] = [0, 1].map((n) =>
      o.sandbox.mutate.visitorWrites(o.conversation(n), 'Newest.'),
    )
    await o.queue(
      {
        operation: 'handled',
        conversation_id: o.conversation(0),
        handled: true,
        expect: Number(first!.id),
      },
      {
        operation: 'handled',
        conversation_id: o.conversation(1),
        handled: true,
        expect: String(second!.id),
      },
      { operation: 'handled', conversation_id: o.conversation(2), handled: true, expect: 4_711 },
    )
    o.sandbox.mutate.visitorWrites(o.conversation(1), 'Newer still.')
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'conflict', 'conflict'])
  })

  test('compared with the time of queueing if the conversation is not mirrored', async () => {
    const o = await createOutboxFixture({ mirrored: false })
    const at = new Date(Date.now() - 10_000).toISOString().replace(/\.\d+/, '')
    for (const n of [0, 1])
      await o.warehouse.query(`insert into writebacks (project_id, operation, conversation_id, payload, created_at)
        values ('${o.sandbox.projectId}', 'handled', '${o.conversation(n)}', '{"handled":true}', '${at}')`)
    o.sandbox.mutate.visitorWrites(o.conversation(1), 'Later.')
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'conflict'])
  })

  for (const [how, clock] of [
    ['in the same second as the last message seen', { speed: 0 }],
    ['with a time before the last message seen', { switches: { 'rows.offset': 120 } }],
  ] as const) {
    for (const seen of ['the mirror', 'the expected message'] as const) {
      test(`not if a visitor wrote ${how}, after the state of ${seen}`, async () => {
        const o = await createOutboxFixture({ ...clock, mirrored: false })
        const [c, d] = [o.conversation(0), o.conversation(1)]
        const [first, second] = [c, d].map((id) => o.sandbox.mutate.visitorWrites(id, 'Hello?'))
        await syncTargets(o.instance.url!, o.sandbox)
        const expected = (id: number) => (seen === 'the expected message' ? { expect: id } : {})
        await o.queue(
          { operation: 'handled', conversation_id: c, handled: true, ...expected(first!.id) },
          { operation: 'handled', conversation_id: d, handled: true, ...expected(second!.id) },
        )
        // The clock of the messages was two minutes ahead and is now correct.
        o.sandbox.setSwitches({ 'rows.offset': 0 })
        o.sandbox.mutate.visitorWrites(c, 'Wait!')
        await o.push()
        expect(await o.all()).toMatchObject([
          { status: 'conflict', error: expect.stringMatching(/a visitor wrote/) },
          { status: 'succeeded' },
        ])
      })
    }
  }

  test('after our own reply that was queued before it', async () => {
    const o = await createOutboxFixture()
    await o.queue(
      {
        operation: 'message',
        conversation_id: o.conversation(0),
        content: 'Solved.',
        sender_name: 'Ann',
      },
      { operation: 'handled', conversation_id: o.conversation(0), handled: true },
    )
    await o.push()
    expect(performedWrites(o.sandbox).map(({ operation }) => operation)).toEqual([
      'sendMessage',
      'setHandled',
    ])
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
  })
})

test('a conversation is not closed if the reply queued before it was not sent', async () => {
  const o = await createOutboxFixture({ switches: { 'fault.status': 422 } })
  o.sandbox.scriptFault({ kind: 'status', operation: 'sendMessage' })
  const [c, d] = [o.conversation(0), o.conversation(1)]
  await o.queue(
    { operation: 'message', conversation_id: c, content: 'Solved.', sender_name: 'Ann' },
    { operation: 'handled', conversation_id: c, handled: true },
    { operation: 'handled', conversation_id: d, handled: true },
  )
  await o.push()
  expect(await o.statuses()).toEqual(['failed', 'conflict', 'succeeded'])
})

describe('a correction of a visitor', () => {
  const rowOf = (o: Awaited<ReturnType<typeof createOutboxFixture>>, id: string) =>
    [...o.sandbox.truth('visitors')].find((row) => row.id === id)!.row as {
      name: string | null
      email: string | null
    }

  test('leaves other fields unchanged, even if someone changed them since', async () => {
    const o = await createOutboxFixture()
    const id = o.visitor(0)
    await o.queue({ operation: 'visitor', visitor_id: id, name: 'Ada' })
    o.sandbox.mutate.renameVisitor(id, rowOf(o, id).name, 'newer@example.com')
    await o.push()
    expect(rowOf(o, id)).toMatchObject({ name: 'Ada', email: 'newer@example.com' })
  })

  test('gives way to someone else’s newer edit of the same field', async () => {
    const o = await createOutboxFixture()
    const id = o.visitor(0)
    await o.queue({ operation: 'visitor', visitor_id: id, name: 'Ada' })
    o.sandbox.mutate.renameVisitor(id, 'Augusta', rowOf(o, id).email)
    await o.push()
    expect(await o.all()).toMatchObject([
      { status: 'conflict', error: expect.stringMatching(/changed the name/) },
    ])
    expect(rowOf(o, id)).toMatchObject({ name: 'Augusta' })
  })

  test('does not conflict with our own earlier edit; null clears a field', async () => {
    const o = await createOutboxFixture()
    const id = o.visitor(0)
    await o.queue(
      { operation: 'visitor', visitor_id: id, name: 'One', email: 'one@example.com' },
      { operation: 'visitor', visitor_id: id, name: 'Two' },
      { operation: 'visitor', visitor_id: id, email: null },
    )
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect(rowOf(o, id)).toMatchObject({ name: 'Two', email: null })
  })

  test('does not conflict with our own earlier edit that the mirror had not seen when it was queued', async () => {
    const o = await createOutboxFixture()
    const id = o.visitor(0)
    const { name } = rowOf(o, id)
    await o.queue({ operation: 'visitor', visitor_id: id, name: 'One' })
    await o.push()
    await o.warehouse.query(`update visitors set name = 'earlier' where id = '${id}'`)
    await o.queue({ operation: 'visitor', visitor_id: id, name })
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    expect(rowOf(o, id)).toMatchObject({ name })
  })
})

test('a retried conflict is sent', async () => {
  const o = await createOutboxFixture()
  const id = o.visitor(0)
  const [first] = await o.queue({ operation: 'visitor', visitor_id: id, name: 'Ada' })
  o.sandbox.mutate.renameVisitor(id, 'Augusta', null)
  await o.push()
  expect(await o.statuses()).toEqual(['conflict'])
  const admin = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
  await admin.decide('retried', { ids: [first!] }, { by: 'a test' })
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
})

test('an unknown target fails with the service’s message', async () => {
  const o = await createOutboxFixture()
  await o.queue({
    operation: 'note',
    visitor_id: '00000000-0000-4000-8000-000000000000',
    content: 'Who?',
  })
  await o.queue({
    operation: 'handled',
    conversation_id: '00000000-0000-4000-8000-000000000000',
    handled: true,
  })
  await o.push()
  expect(await o.all()).toMatchObject([
    { status: 'failed', error: expect.stringMatching(/NOT_FOUND|No such/) },
    { status: 'failed', error: expect.stringMatching(/NOT_FOUND|No such/) },
  ])
})

test('the field name of a note is discovered and remembered', async () => {
  for (const field of ['content', 'note', 'text', 'body'] as const) {
    for (const issues of ['path', 'string'] as const) {
      const o = await createOutboxFixture({
        mirrored: false,
        switches: { 'note.field': field, 'errors.issues': issues },
      })
      await o.queue({ operation: 'note', visitor_id: o.visitor(0), content: 'First.' })
      await o.push()
      await o.queue({ operation: 'note', visitor_id: o.visitor(0), content: 'Second.' })
      await o.push()
      expect(await o.all()).toMatchObject([
        { status: 'succeeded', attempts: 1 },
        { status: 'succeeded', attempts: 1 },
      ])
      const asked = o.sandbox.counts().byOperation.addNote
      expect(asked).toBe(field === 'content' ? 2 : 3)
      expect(performedWrites(o.sandbox).map(({ body }) => body)).toEqual([
        { [field]: 'First.' },
        { [field]: 'Second.' },
      ])
    }
  }
})

test('an expiry, rows inserted by SQL and a missing scope are respected', async () => {
  const o = await createOutboxFixture()
  const [c, v] = [o.conversation(0), o.visitor(0)]
  await o.queue({
    operation: 'handled',
    conversation_id: c,
    handled: true,
    expires_at: '2020-01-01T00:00:00Z',
  })
  await o.warehouse.query(
    `insert into writebacks (operation, conversation_id, payload) values ('handled', '${o.conversation(1)}', '{"handled":true}')`,
  )
  await o.push()
  expect(await o.statuses()).toEqual(['expired', 'succeeded'])
  o.sandbox.addKey({
    key: 'svc_live_half',
    scopes: ['conversations:read', 'conversations:write', 'visitors:read'],
  })
  await o.queue(
    { operation: 'note', visitor_id: v, content: 'x' },
    { operation: 'handled', conversation_id: c, handled: true },
  )
  const report = await o.push({ apiKey: o.secret('svc_live_half') })
  expect(report).toMatchObject({
    outcome: 'blocked',
    notices: [expect.stringMatching(/visitors:write/)],
  })
  expect(await o.statuses()).toEqual(['expired', 'succeeded', 'queued', 'succeeded'])
})

const testOnOne = createTestOnOne()

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `a ref is queued once; one that failed may be queued again, corrected (${database})`,
    async () => {
      const o = await createOutboxFixture({ database })
      const unknownId = '00000000-0000-4000-8000-000000000000'
      const line = { operation: 'note', content: 'Hello.', ref: 'crm-1' }
      const other = {
        operation: 'handled',
        conversation_id: o.conversation(0),
        handled: true,
        ref: 'crm-2',
      }
      expect(await o.queue({ ...line, visitor_id: unknownId }, other)).toHaveLength(2)
      await o.push()
      expect(await o.statuses()).toEqual(['failed', 'succeeded'])
      expect(await o.queue({ ...line, visitor_id: o.visitor(0) }, other)).toHaveLength(1)
      await o.push()
      expect(await o.all()).toMatchObject([
        { status: 'succeeded', visitorId: o.visitor(0) },
        { status: 'succeeded', attempts: 1 },
      ])
    },
  )
}

test('rows without a project are reported if the warehouse holds several projects', async () => {
  const o = await createOutboxFixture()
  await o.warehouse.query(
    `insert into sync_streams (project_id, stream) values ('another', 'visitors')`,
  )
  await o.warehouse.query(
    `insert into writebacks (operation, conversation_id, payload) values ('handled', '${o.conversation(1)}', '{"handled":true}')`,
  )
  expect(await o.push()).toMatchObject({
    outcome: 'blocked',
    notices: [expect.stringMatching(/1 row has no project/)],
  })
  expect(performedWrites(o.sandbox)).toEqual([])
})
