/** Claims and sends are decided by the database alone. */

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { endClaim } from '../../src/outbox/active-claims.ts'
import { operations, operationTypes, toLaneName } from '../../src/outbox/core/operations.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

for (const database of ['sqlite', 'postgres'] as const) {
  describe(`the outbox in ${database}`, () => {
    const reply = (conversation_id: string, content: string) => ({
      operation: 'message',
      conversation_id,
      content,
      sender_name: 'Ann',
    })

    test('accepts every operation, in the lane of its target and with its view of the mirror', async () => {
      const o = await createOutboxFixture({ database })
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const values = { text: 'x', line: 'x', id: randomUUID(), flag: true }
      for (const [n, operation] of operations.entries()) {
        const { target, fields } = operationTypes[operation]
        const payload = Object.fromEntries(
          Object.entries(fields).map(([name, { kind }]) => [name, values[kind]]),
        )
        const [id] = await o.queue({ operation, [`${target}_id`]: o[target](n), ...payload })
        const claimed = await outbox.claim(id!, Date.now())
        expect(claimed).toMatchObject({ operation, lane: toLaneName(target, o[target](n)) })
        expect(claimed!.targetSnapshot).toHaveProperty(
          target === 'conversation' ? 'lastMessageAt' : 'email',
        )
      }
    })

    test('gives a write-back to one of several claimants and allows one send', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'Once.'))
      const warehouses = await Promise.all(Array.from({ length: 4 }, () => o.instance.open()))
      const outboxes = warehouses.map((warehouse) =>
        createOutbox(warehouse.projectDb(o.sandbox.projectId)),
      )
      const claims = await Promise.all(outboxes.map((outbox) => outbox.claim(id!, Date.now())))
      const [claimed, ...others] = claims.filter((claim) => claim !== null)
      expect(others).toEqual([])
      const recorded = await Promise.all(
        outboxes.map((outbox) => outbox.markSending(claimed!, {}, Date.now(), Date.now())),
      )
      expect(recorded.filter(Boolean)).toHaveLength(1)
    })

    test('rejects the send of a write-back that was cancelled during its check', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'Never.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = await outbox.claim(id!, Date.now())
      expect(
        await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).decide(
          'cancelled',
          {},
          { by: 'a test' },
        ),
      ).toMatchObject({
        ids: [id],
      })
      expect(await outbox.markSending(claimed!, {}, Date.now(), Date.now())).toBe(false)
      expect(await o.statuses()).toEqual(['cancelled'])
    })

    test('sends one write-back of a lane at a time, even if an earlier one is retried meanwhile', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const admin = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const [first] = await o.queue(reply(o.conversation(0), 'First.'))
      await admin.decide('cancelled', {}, { by: 'a test' })
      const [second] = await o.queue(reply(o.conversation(0), 'Second.'))
      const verifying = await outbox.claim(second!, Date.now())
      await admin.decide('retried', { ids: [first!] }, { by: 'a test' })
      expect(await outbox.markSending(verifying!, {}, Date.now(), Date.now())).toBe(false)
      await outbox.release(verifying!, { dueAt: null })
      await admin.decide('cancelled', { ids: [first!] }, { by: 'a test' })
      const sending = await outbox.claim(second!, Date.now())
      expect(await outbox.markSending(sending!, {}, Date.now(), Date.now() + 60_000)).toBe(true)
      await admin.decide('retried', { ids: [first!] }, { by: 'a test' })
      expect(await outbox.findClaimable(Date.now(), 10)).toEqual([])
      expect(await outbox.claim(first!, Date.now())).toBeNull()
      expect(await outbox.settleSent(sending!, { event: 'accepted', why: 'a test' })).toBe(
        'succeeded',
      )
      expect(await outbox.findClaimable(Date.now(), 10)).toMatchObject([{ id: first }])
    })

    test('rejects the send of a row that was changed by SQL meanwhile', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'First thought.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = (await outbox.claim(id!, Date.now()))!
      const [other] = [o.conversation(1)]
      await o.warehouse.query(`update writebacks set conversation_id = '${other}',
        payload = '{"content": "Second thought.", "sender_name": "Ann"}'`)
      expect(await outbox.markSending(claimed, {}, Date.now(), Date.now())).toBe(false)
      await o.warehouse.query('update writebacks set owner = null')
      expect((await outbox.findClaimable(Date.now(), 1))[0]!.lane).toBe(`conversation/${other}`)
      await o.push()
      expect(performedWrites(o.sandbox)).toMatchObject([
        { params: { conversationId: other }, body: { content: 'Second thought.' } },
      ])
    })

    test('verifies again before a resend, as a reply may have arrived late', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'Late.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = (await outbox.claim(id!, Date.now()))!
      const messages = [...o.sandbox.truth('messages')].filter(
        ({ parentId }) => parentId === o.conversation(0),
      )
      await outbox.markSending(
        claimed,
        { before: { ids: messages.map((row) => row.id!) } },
        Date.now(),
        Date.now(),
      )
      await outbox.settleSent(claimed, {
        event: 'no_response',
        why: 'a test',
        evidence: { sender: 'ended' },
      })
      const verifying = (await outbox.claim(id!, Date.now()))!
      expect(await outbox.settle(verifying, { event: 'absent', why: 'a test' })).toBe('queued')
      o.sandbox.mutate.agentReplies(o.conversation(0), 'Late.', 'Ann')
      await o.push()
      expect(await o.statuses()).toEqual(['succeeded'])
      expect(performedWrites(o.sandbox)).toEqual([])
    })

    test('marks a reply uncertain if its conversation was deleted after the send, and continues', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [gone, there] = [o.conversation(0), o.conversation(1)]
      const [id] = await o.queue(reply(gone, 'Late.'), reply(there, 'On time.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = (await outbox.claim(id!, Date.now()))!
      await outbox.markSending(claimed, { before: { ids: [] } }, Date.now(), Date.now())
      await outbox.settleSent(claimed, {
        event: 'no_response',
        why: 'a test',
        evidence: { sender: 'ended' },
      })
      const verifying = (await outbox.claim(id!, Date.now()))!
      await outbox.settle(verifying, { event: 'absent', why: 'a test' })
      o.sandbox.mutate.deleteConversation(gone)
      await o.push()
      expect(await o.statuses()).toEqual(['uncertain', 'succeeded'])
    })

    test('what is being sent cannot be changed by SQL, approved or not, nor what was sent', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'Clear.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = (await outbox.claim(id!, Date.now()))!
      await outbox.markSending(claimed, { before: {} }, Date.now(), Date.now())
      await outbox.settleSent(claimed, {
        event: 'no_response',
        why: 'a test',
        evidence: { sender: 'ended' },
      })
      const request = await o.warehouse.query(
        'select operation, conversation_id, payload from writebacks',
      )
      const changes = [
        `payload = '{"content": "Other.", "sender_name": "Ann"}'`,
        `conversation_id = '${o.conversation(1)}'`,
        `operation = 'handled', payload = '{"handled": true}'`,
        `erased_at = '2026-01-01T00:00:00Z'`,
        `erased_at = '2026-01-01T00:00:00Z', payload = '{"content": "Other.", "sender_name": "Ann"}'`,
      ]
      const changeAll = async () => {
        for (const change of changes)
          await expect(
            o.warehouse.query(`update writebacks set ${change}`),
            change,
          ).rejects.toThrow(
            /stays as it was sent|only the words of a write-back that has its outcome/,
          )
      }
      await changeAll()
      await o.push()
      expect(await o.statuses()).toEqual(['uncertain'])
      for (const change of changes.slice(0, 3))
        await expect(o.warehouse.query(`update writebacks set ${change}`), change).rejects.toThrow(
          'as it was sent',
        )
      expect(
        await o.warehouse.query('select operation, conversation_id, payload from writebacks'),
      ).toEqual(request)
    })

    test('a row that SQL puts back into the queue while it is sent keeps its words until its sender has let it go', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [id] = await o.queue(reply(o.conversation(0), 'Clear.'))
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const claimed = (await outbox.claim(id!, Date.now()))!
      await outbox.markSending(claimed, { before: {} }, Date.now(), Date.now())
      await o.warehouse.query(`update writebacks set status = 'queued'`)
      const other = `payload = '{"content": "Other.", "sender_name": "Ann"}'`
      await expect(o.warehouse.query(`update writebacks set ${other}`)).rejects.toThrow(
        'stays as it was sent',
      )
      expect(await outbox.settleSent(claimed, { event: 'accepted', why: 'a test' })).toBe(
        'succeeded',
      )
    })

    test('a claim of this process whose work has ended is free at once, and one that it works on is not', async () => {
      const o = await createOutboxFixture({ database, mirrored: false })
      const [first, second] = await o.queue(
        reply(o.conversation(0), 'One.'),
        reply(o.conversation(1), 'Two.'),
      )
      const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      await outbox.claim(first!, Date.now())
      await outbox.claim(second!, Date.now())
      expect(await outbox.findClaimable(Date.now(), 9)).toEqual([])
      expect(await outbox.claim(first!, Date.now())).toBeNull()
      // As when the database restarts while the outcome is stored.
      endClaim(first!)
      expect(await outbox.findClaimable(Date.now(), 9)).toMatchObject([{ id: first }])
      // Another process may take it, too.
      expect(await o.warehouse.query('select id from writebacks where owner is not null')).toEqual([
        { id: second },
      ])
      const claimed = (await outbox.claim(first!, Date.now()))!
      expect(claimed).toMatchObject({ id: first })
      await outbox.markSending(claimed, { before: {} }, Date.now(), Date.now())
      endClaim(first!)
      // It is known that nothing is sent any more, as the process that sent is this one.
      expect((await outbox.claim(first!, Date.now()))!.evidence).toMatchObject({ sender: 'ended' })
      for (const id of [first!, second!]) endClaim(id)
    })
  })
}

test('what was sent is verified before more is sent, as verifying does not wait for the write rate', async () => {
  const o = await createOutboxFixture({ mirrored: false })
  const flags = [0, 1].map((n) => ({
    operation: 'handled',
    conversation_id: o.conversation(n),
    handled: true,
  }))
  const [queued, sent] = await o.queue(...flags)
  const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
  const claimed = (await outbox.claim(sent!, Date.now()))!
  await outbox.markSending(claimed, { before: {} }, Date.now(), Date.now())
  await outbox.settleSent(claimed, {
    event: 'no_response',
    why: 'a test',
    evidence: { sender: 'ended' },
  })
  expect(await outbox.findClaimable(Date.now(), 1)).toMatchObject([{ id: sent }])
  expect(await outbox.findClaimable(Date.now(), 2)).toMatchObject([{ id: sent }, { id: queued }])
})

test('lanes of a dead process do not keep the next ones waiting, as their jobs may still be locked', async () => {
  const o = await createOutboxFixture({ mirrored: false })
  const [abandoned, next] = await o.queue(
    ...[0, 1, 2].map((n) => ({
      operation: 'handled',
      conversation_id: o.conversation(n),
      handled: true,
    })),
  )
  const outbox = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
  await outbox.claim(abandoned!, Date.now())
  await o.warehouse.query(`update writebacks set owner = 'dead' where owner is not null`)
  expect(await outbox.findClaimable(Date.now(), 1)).toMatchObject([{ id: abandoned }, { id: next }])
})

test('a BI tool with only the insert privilege can queue write-backs in Postgres', async () => {
  const o = await createOutboxFixture({ database: 'postgres' })
  const url = new URL(o.instance.url!)
  const schema = url.searchParams.get('schema')!
  url.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const tool = `tool_${schema}`
  await client.query(`create role ${tool}`)
  onTestFinished(async () => {
    await client.query(`reset role; drop owned by ${tool}; drop role ${tool}`)
    await client.end()
  })
  await client.query(
    `grant usage on schema ${schema} to ${tool}; grant insert on ${schema}.writebacks to ${tool}`,
  )
  await client.query(`set role ${tool}`)
  // Also with its own search path.
  await client.query(
    `insert into ${schema}.writebacks (operation, conversation_id, payload) values ('handled', $1, '{"handled": true}')`,
    [o.conversation(0)],
  )
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded'])
  const [row] = await o.warehouse.query('select seq, target_snapshot from writebacks')
  expect(row).toMatchObject({ seq: 1, target_snapshot: expect.stringMatching(/lastMessageAt/) })
})

for (const database of ['sqlite', 'postgres'] as const) {
  test(`what has arrived cannot be queued again by any statement (${database})`, async () => {
    const o = await createOutboxFixture({ database, mirrored: false })
    await o.queue({ operation: 'handled', conversation_id: o.conversation(0), handled: true })
    await o.push()
    await expect(o.warehouse.query(`update writebacks set status = 'queued'`)).rejects.toThrow(
      /has arrived stays so/,
    )
    expect(await o.statuses()).toEqual(['succeeded'])
  })

  test(`an exported row can be imported again: failed ones take the correction, others are known (${database})`, async () => {
    const o = await createOutboxFixture({ database, mirrored: false })
    const unknownId = '00000000-0000-4000-8000-000000000000'
    await o.queue(
      { operation: 'note', visitor_id: unknownId, content: 'x' },
      { operation: 'note', visitor_id: o.visitor(0), content: 'y' },
    )
    await o.push()
    const again = (await o.all()).map(({ ref, payload }) => ({
      operation: 'note',
      visitor_id: o.visitor(1),
      ref,
      ...payload,
    }))
    expect(await o.queue(...again)).toHaveLength(1)
    await o.push()
    expect(await o.statuses()).toEqual(['succeeded', 'succeeded'])
    expect(performedWrites(o.sandbox)).toHaveLength(2)
  })
}
