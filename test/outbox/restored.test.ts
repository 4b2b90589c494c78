/**
 * A warehouse that was restored from a backup: what has left since then does not leave a second
 * time.
 */

import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { pushProject } from '../../src/app/push.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { sampledTest } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { openTestWarehouse } from '../warehouse/test-warehouse.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  performedWrites,
  syncTargets,
} from './outbox-fixture.ts'
import { queueBatch, reviewQueued } from './review-scenario.ts'

/** Backs the warehouse up, sends, and returns what sends from the backup. */
async function sendAndRestore(o: OutboxFixture) {
  const url = `sqlite:${join(createTempFolder(onTestFinished), 'backup.db')}`
  await o.warehouse.query(`vacuum into '${url.slice('sqlite:'.length)}'`)
  await o.push()
  const { warehouse } = await openTestWarehouse({ make: async () => restored(url) })
  const project = projectConfigOf(o.sandbox, { verifyAfterMs: 100 })
  const push = () =>
    pushProject(configOf(url, project), project, {
      signal: new AbortController().signal,
      onProgress: () => {},
      onBudget: () => {},
      despiteFailures: false,
      log: pino({ level: 'silent' }),
    })
  return { url, push, warehouse, admin: createOutbox(warehouse.projectDb(o.sandbox.projectId)) }
}

async function restored(url: string) {
  const { openWarehouse } = await import('../../src/app/open.ts')
  const warehouse = await openWarehouse(url)
  return {
    kind: 'sqlite' as const,
    url,
    open: async () => warehouse,
    drop: () => warehouse.close(),
  }
}

const reply = (conversation: string, content = 'We have found it.') =>
  ({ operation: 'message', conversation_id: conversation, content, sender_name: 'Ann' }) as const

for (const [clock, offset] of [
  ['right', 0],
  ['an hour ahead', 3600],
  ['an hour behind', -3600],
] as const) {
  // Each clock once.
  for (const isSynced of [false, true])
    sampledTest(
      isSynced === offset > 0,
      `a reply and a correction leave once, where the times of rows are ${clock}${isSynced ? ', also after a sync' : ''}`,
      async () => {
        const o = await createOutboxFixture({ switches: { 'rows.offset': offset } })
        await o.queue(...[0, 1, 2].map((n) => reply(o.conversation(n))), {
          operation: 'visitor',
          visitor_id: o.visitor(0),
          name: 'Ada',
        })
        const backup = await sendAndRestore(o)
        expect(performedWrites(o.sandbox)).toHaveLength(4)
        if (isSynced) await syncTargets(backup.url, o.sandbox)
        const reads = o.sandbox.counts().total
        await backup.push()
        expect(performedWrites(o.sandbox)).toHaveLength(4)
        expect(await backup.admin.list({}, 9)).toMatchObject([
          ...[0, 1, 2].map(() => ({
            status: 'conflict',
            reason: expect.stringContaining('it is there already'),
          })),
          { status: 'conflict', reason: expect.stringContaining('it is there already') },
        ])
        // One look before a reply, and one at the reason of a conflict.
        expect(o.sandbox.counts().total - reads).toBeLessThanOrEqual(4 * 2)
      },
    )
}

for (const { name: database } of databases)
  test(`the review says that a queued reply is there already, once the mirror has it (${database})`, async () => {
    const o = await createOutboxFixture({
      database: database === 'postgres' ? 'postgres' : 'sqlite',
    })
    await queueBatch(o, [
      reply(o.conversation(0)),
      reply(o.conversation(1)),
      reply(o.conversation(2)),
    ])
    for (const n of [0, 1])
      o.sandbox.mutate.agentReplies(o.conversation(n), 'We  have found it.', 'Ann')
    const verdicts = async () =>
      (await reviewQueued(o)).reviews.map(({ outcome, reason, why }) => [outcome, reason, why])
    const willBeSent = ['would_send', null, null]
    expect(await verdicts()).toEqual([willBeSent, willBeSent, willBeSent])
    await syncTargets(o.instance.url!, o.sandbox)
    const isThere = expect.stringMatching(
      /^it is there already: message \d+ has the same words, and is newer than this$/,
    )
    const sent = ['stands_against', 'already_sent', isThere]
    expect(await verdicts()).toEqual([sent, sent, willBeSent])
  })

test('a person who has seen that it is there can send it all the same', async () => {
  const o = await createOutboxFixture()
  const [id] = await o.queue(reply(o.conversation(0)))
  const backup = await sendAndRestore(o)
  await backup.push()
  await backup.admin.decide('retried', { ids: [id!] }, { by: 'ann' })
  await backup.push()
  expect(await backup.admin.countByStatus({})).toEqual({ succeeded: 1 })
  expect(performedWrites(o.sandbox)).toHaveLength(2)
})

test('the same words that were there before are no reason, nor are those of another reply of ours', async () => {
  const o = await createOutboxFixture()
  o.sandbox.mutate.agentReplies(o.conversation(0), 'We have found it.', 'Ann')
  await syncTargets(o.instance.url!, o.sandbox)
  o.sandbox.advance(60_000)
  await o.warehouse.query(`insert into writebacks (operation, conversation_id, payload, created_at) values
    ('message', '${o.conversation(0)}', '{"content":"We have found it.","sender_name":"Ann"}', '2090-01-01T00:00:00Z')`)
  await o.queue(reply(o.conversation(1)), reply(o.conversation(1)))
  await o.push()
  expect(await o.statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
})
