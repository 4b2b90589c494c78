/**
 * What an import asks the warehouse: replies that were sent or are queued, and refs that are taken.
 */

import { describe, expect, test } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createOutboxFixture, type OutboxFixture, syncTargets } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

const since = '2026-05-02T12:00:00Z'

describe.each(databases.map(({ name }) => name))('on %s', (database) => {
  const reply = (o: OutboxFixture, n: number, content: string) => ({
    operation: 'message',
    conversation_id: o.conversation(n),
    content,
    sender_name: 'Ann',
  })
  const contentsOf = async (o: OutboxFixture, ...conversations: readonly string[]) => {
    const found = await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).listReplies(
      conversations,
      since,
    )
    return found
      .filter(({ content }) => content.startsWith('our '))
      .map(({ content, sentAt }) => [content, sentAt])
  }

  testOnOne(
    database,
    'who has signed an earlier reply, by the facts for analysts, or the messages while there are none',
    async () => {
      const o = await createOutboxFixture({ database: database as 'sqlite' | 'postgres' })
      const known = createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).findKnownSenders
      const [first] = await o.warehouse.query(
        "select sender_display_name as name from messages where sender_type = 'agent' and sender_display_name is not null limit 1",
      )
      const name = String(first?.name)
      for (const delete_ of ['', 'delete from fct_contribution']) {
        if (delete_ !== '') await o.warehouse.query(delete_)
        expect(await known([name, `${name}”`, 'nobody\u0000'])).toEqual(new Set([name]))
      }
      expect(await known([])).toEqual(new Set())
    },
  )

  testOnOne(
    database,
    'replies that were sent since, may have been, or are still to be sent',
    async () => {
      const o = await createOutboxFixture({
        database: database as 'sqlite' | 'postgres',
        mirrored: false,
      })
      const statuses = [
        'queued',
        'draft',
        'succeeded',
        'uncertain',
        'sending',
        'failed',
        'conflict',
        'cancelled',
        'expired',
      ]
      const before = `'2026-05-02T11:59:59Z'`
      // One that was sent long ago in vain, and queued again since.
      const sentAts: Record<string, string> = {
        old: before,
        again: before,
        succeeded: `'${since}'`,
      }
      const statusOf: Record<string, string> = { old: 'succeeded', again: 'queued' }
      for (const status of [...statuses, 'old', 'again']) {
        const [id] = await o.queue(reply(o, 0, `our ${status} "words"`))
        const [sentAt, stored] = [sentAts[status] ?? 'null', statusOf[status] ?? status]
        await o.warehouse.query(
          `update writebacks set status = '${stored}', sent_at = ${sentAt} where id = '${id}'`,
        )
      }
      await o.queue(reply(o, 1, 'our other'), {
        operation: 'note',
        visitor_id: o.visitor(0),
        content: 'our note',
      })
      expect(await contentsOf(o, o.conversation(0).toUpperCase())).toEqual([
        ['our queued "words"', null],
        ['our draft "words"', null],
        ['our succeeded "words"', since],
        ['our uncertain "words"', null],
        ['our sending "words"', null],
        ['our again "words"', null],
      ])
      expect(await contentsOf(o, o.conversation(2))).toEqual([])
      expect(await contentsOf(o)).toEqual([])
    },
  )

  testOnOne(database, 'what the team wrote by other means, as the mirror shows it', async () => {
    const o = await createOutboxFixture({ database: database as 'sqlite' | 'postgres' })
    o.sandbox.mutate.agentReplies(o.conversation(3), 'our words by hand')
    o.sandbox.mutate.visitorWrites(o.conversation(3), 'our visitor')
    await syncTargets(o.instance.url!, o.sandbox)
    expect(await contentsOf(o, o.conversation(3), o.conversation(4))).toEqual([
      ['our words by hand', expect.stringMatching(/^2026-06-01T/)],
    ])
  })

  testOnOne(
    database,
    'a ref is taken by what was queued with it, and free where that failed',
    async () => {
      const o = await createOutboxFixture({
        database: database as 'sqlite' | 'postgres',
        mirrored: false,
      })
      const ids = await o.queue(
        { ...reply(o, 0, 'Hi \\u0000'), ref: 'a"\u2028b' },
        { operation: 'handled', conversation_id: o.conversation(0), handled: true, ref: 'b' },
        { operation: 'visitor', visitor_id: o.visitor(0), name: null, ref: 'c' },
      )
      await o.warehouse.query(`update writebacks set status = 'failed' where id = '${ids[1]}'`)
      const { findQueuedRefs } = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
      const found = await findQueuedRefs(['a"\u2028b', 'b', 'c', 'd'])
      expect([...found]).toMatchObject([
        [
          'a"\u2028b',
          {
            operation: 'message',
            target: o.conversation(0),
            batchId: null,
            request: { request: { payload: { content: 'Hi \\u0000', sender_name: 'Ann' } } },
          },
        ],
        [
          'c',
          {
            operation: 'visitor',
            target: o.visitor(0),
            request: { request: { payload: { name: null } } },
          },
        ],
      ])
      expect(await findQueuedRefs([])).toEqual(new Map())
    },
  )
})

test('a reply whose cancellation is in force repeats nothing, even before its row has followed', async () => {
  const o = await createOutboxFixture({ mirrored: false })
  await o.queue({
    operation: 'message',
    conversation_id: o.conversation(0),
    content: 'our words',
    sender_name: 'Ann',
  })
  const { listReplies } = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
  expect(await listReplies([o.conversation(0)], since)).toHaveLength(1)
  await o.warehouse.query(`insert into writeback_cancellations
    (project_id, id, batch_id, includes_rows_without_project, up_to, done_to, cancelled_at, cancelled_by)
    values ('${o.sandbox.projectId}', 'x', null, 0, 1000000, 0, '2026-06-01T00:00:00Z', 'ann')`)
  expect(await listReplies([o.conversation(0)], since)).toEqual([])
})
