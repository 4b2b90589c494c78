/** Queued write-backs arrive once and in lane order. */

import { expect } from 'vitest'
import { readStatus } from '../../src/maintenance/sql/status-report.ts'
import { usualPolicy } from '../support/budget-policy.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

for (const database of ['sqlite', 'postgres'] as const) {
  testOnOne(
    database,
    `all four operations arrive and show in the mirror at once (${database})`,
    async () => {
      const { sandbox, queue, push, conversation, visitor, all, warehouse } =
        await createOutboxFixture({ database })
      const [c, v] = [conversation(0), visitor(0)]
      await queue(
        {
          operation: 'message',
          conversation_id: c,
          content: 'We have found it.',
          sender_name: 'Ann',
        },
        { operation: 'handled', conversation_id: c, handled: true },
        { operation: 'note', visitor_id: v, content: 'Asked for an invoice.' },
        { operation: 'visitor', visitor_id: v, name: 'Ada Lovelace' },
      )
      const before = [...sandbox.truth('visitors')].find(({ id }) => id === v)!.row as {
        email: string | null
      }
      const report = await push()
      const { budget } = await readStatus(warehouse.projectDb(sandbox.projectId), Date.now(), {
        ...usualPolicy,
        rate: { requests: 600, windowMs: 600_000 },
      })
      const ran = await warehouse.query(
        'select coalesce(sum(requests), 0) as requests from sync_runs',
      )
      expect(budget.usedInWindow).toBe(report.requests + Number(ran[0]!.requests))
      expect(await all()).toMatchObject(
        Array.from({ length: 4 }, () => ({ status: 'succeeded', attempts: 1 })),
      )
      expect(report).toMatchObject({
        outcome: 'done',
        settled: { succeeded: 4 },
        queue: { succeeded: 4 },
      })
      expect(performedWrites(sandbox).map(({ operation, body }) => [operation, body])).toEqual(
        expect.arrayContaining([
          ['sendMessage', { content: 'We have found it.', senderName: 'Ann' }],
          ['setHandled', { handled: true }],
          ['addNote', { content: 'Asked for an invoice.' }],
          ['updateVisitor', { name: 'Ada Lovelace', email: before.email }],
        ]),
      )
      const [conv] = await warehouse.query(`select handled_at from conversations where id = '${c}'`)
      expect(conv!.handled_at).not.toBeNull()
      const [mirrored] = await warehouse.query(`select name from visitors where id = '${v}'`)
      expect(mirrored!.name).toBe('Ada Lovelace')
      const replies = await warehouse.query(
        `select content from messages where conversation_id = '${c}' and content = 'We have found it.'`,
      )
      expect(replies).toHaveLength(1)
    },
  )

  testOnOne(
    database,
    `if the service does not answer, everything stays queued and arrives later (${database})`,
    async () => {
      const { queue, push, visitors, statuses, sandbox } = await createOutboxFixture({
        database,
        mirrored: false,
      })
      await queue(
        ...visitors().map((id) => ({ operation: 'note', visitor_id: id, content: 'Called.' })),
      )
      const unreachable = new URL('http://127.0.0.1:1/v1')
      await expect(push({ baseUrl: unreachable })).rejects.toThrow(/the service does not answer/)
      expect(new Set(await statuses())).toEqual(new Set(['queued']))
      expect(await push()).toMatchObject({ outcome: 'done', settled: { succeeded: 12 } })
      expect(performedWrites(sandbox)).toHaveLength(12)
    },
  )
}
