/**
 * All sending of a project is stopped, goes on, and is tried again despite failures: at once,
 * whoever sends.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { evaluateCircuits } from '../../src/outbox/send/circuit-breaker.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { conversation, flag, queueFlags } from './batch-fixture.ts'
import { createOutboxFixture } from './outbox-fixture.ts'

describe.each(databases)('in $name', ({ make }) => {
  async function start() {
    const place = await make()
    onTestFinished(() => place.drop())
    const { projectDb, query } = await place.open()
    return { outbox: createOutbox(projectDb('p')), other: createOutbox(projectDb('q')), query }
  }

  test('nothing is claimed while it is stopped, and what was claimed before is not sent', async () => {
    const { outbox, other } = await start()
    await queueFlags(outbox, 2)
    await queueFlags(other, 1)
    const now = Date.now()
    const [first, second] = await outbox.findClaimable(now, 10)
    const claimed = await outbox.claim(first?.id ?? '', now)
    expect(await outbox.decideSending('stop_all', { by: 'ann' })).toBe(true)
    expect(await outbox.decideSending('stop_all', { by: 'bea' })).toBe(false)
    expect(await outbox.readSendingStop()).toMatchObject({
      by: 'ann',
      why: 'ann stopped all sending',
    })
    expect(await outbox.markSending(claimed!, {}, now, now)).toBe(false)
    await outbox.release(claimed!, { dueAt: null })
    expect(await outbox.findClaimable(now, 10)).toEqual([])
    expect(await outbox.claim(second?.id ?? '', now)).toBeNull()
    expect([await outbox.hasPending(), await outbox.countByStatus({})]).toEqual([
      false,
      { queued: 2 },
    ])
    // Another project goes on, and what is queued later waits, too.
    expect(await other.findClaimable(now, 10)).toHaveLength(1)
    await outbox.enqueue([[flag(7)]], {
      status: 'queued',
      batchId: 'later',
      createdBy: null,
      expiresAt: null,
    })
    expect(await outbox.findClaimable(now, 10)).toEqual([])
    expect(await outbox.decideSending('resume_all', { by: 'bea' })).toBe(true)
    expect(await outbox.findClaimable(now, 10)).toHaveLength(3)
  })

  test('nothing is said to be sent later that a person holds back', async () => {
    const { outbox } = await start()
    await queueFlags(outbox, 2)
    const now = Date.now()
    const [first, second] = await outbox.findClaimable(now, 10)
    const rests = async () => [await outbox.findRest(now), await outbox.findBatchRest('flags')]
    const rest = { until: now + 60_000, why: 'the first of the two' }
    await outbox.release((await outbox.claim(first!.id, now))!, {
      dueAt: rest.until,
      why: rest.why,
    })
    expect(await rests()).toEqual([rest, null])
    const claimed = (await outbox.claim(second!.id, now))!
    await outbox.release(claimed, { dueAt: now + 90_000, why: 'another one' })
    expect(await rests()).toEqual([rest, rest])
    await outbox.decideSending('stop_all', { by: 'ann' })
    expect(await rests()).toEqual([null, null])
    // What was sent is verified nevertheless.
    await outbox.decideSending('resume_all', { by: 'ann' })
    const sent = (await outbox.claim(second!.id, now + 90_000))!
    expect(await outbox.markSending(sent, {}, now, now)).toBe(true)
    await outbox.decideSending('stop_all', { by: 'ann' })
    await outbox.release({ ...sent, status: 'sending' }, { dueAt: now + 90_000, why: 'lost' })
    const verified = { until: now + 90_000, why: 'lost' }
    expect(await rests()).toEqual([verified, verified])
  })

  test('a circuit breaker that a person has closed counts from then on', async () => {
    const { outbox, query } = await start()
    const fail = async (id: string, at: string) => {
      await query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status)
        values ('p', '${id}', 'message', '${conversation(1)}', '{"content":"Hello.","sender_name":"Ann"}', 'draft')`)
      await query(
        `update writebacks set status = 'uncertain', finished_at = '${at}' where id = '${id}'`,
      )
    }
    const seconds = (n: number) => `${new Date(Date.now() + n * 1000).toISOString().slice(0, 19)}Z`
    const isOpen = async () =>
      evaluateCircuits(await outbox.listRecentOutcomes(), Date.now()).all !== null
    for (let n = 0; n < 5; n += 1) await fail(`before-${n}`, seconds(-60))
    expect(await isOpen()).toBe(true)
    await outbox.decideSending('close_circuit', { by: 'ann' })
    expect(await isOpen()).toBe(false)
    for (let n = 0; n < 4; n += 1) await fail(`after-${n}`, seconds(60))
    expect(await isOpen()).toBe(false)
    await fail('after-4', seconds(60))
    expect(await isOpen()).toBe(true)
  })
})

test('a push sends nothing while it is stopped, verifies what was sent, and says who stopped it', async () => {
  const o = await createOutboxFixture()
  await o.queue({ operation: 'handled', conversation_id: o.conversation(0), handled: true })
  const [sent] = await o.queue({
    operation: 'handled',
    conversation_id: o.conversation(1),
    handled: true,
  })
  await o.warehouse.query(`update writebacks set status = 'sending', attempts = 1, sent_at = '2026-06-01T12:00:00Z',
    evidence = '{}' where id = '${sent}'`)
  await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).decideSending('stop_all', {
    by: 'ann',
  })
  const report = await o.push()
  expect(report.notices.join()).toMatch(
    /all sending was stopped by ann; go on with `.*writeback resume --all`/,
  )
  expect((await o.statuses()).filter((status) => status === 'queued').length).toBeGreaterThan(0)
  expect(await o.statuses()).not.toContain('sending')
  expect(o.sandbox.counts().byOperation.updateConversation ?? 0).toBe(0)
})
