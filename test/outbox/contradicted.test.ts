/** A service that accepts a change and shows something else: the row has succeeded, and says so. */
import { expect, test } from 'vitest'
import { renderPush } from '../../src/cli/push.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { createOutboxFixture } from './outbox-fixture.ts'

const testOnOne = createTestOnOne()

const bodies: readonly Switches['writes.body'][] = ['row', 'nothing']

for (const database of ['sqlite', 'postgres'] as const)
  for (const body of bodies)
    testOnOne(
      database,
      `what is accepted and has no effect is said on the row and counted (${body}, ${database})`,
      async () => {
        const o = await createOutboxFixture({
          database,
          switches: { 'writes.effect': 'none', 'writes.body': body },
        })
        const [open] = [...o.sandbox.truth('conversations')].filter(
          ({ row }) => (row as { handledAt: string | null }).handledAt === null,
        )
        await o.queue(
          { operation: 'handled', conversation_id: open!.id, handled: true },
          { operation: 'visitor', visitor_id: o.visitor(0), name: 'Ada', email: 'ada@example.org' },
          { operation: 'note', visitor_id: o.visitor(1), content: 'Called.' },
        )
        const report = await o.push()
        const said = [
          'the service answered 200, but still shows it as open',
          expect.stringMatching(/still shows the former name/),
        ]
        expect(await o.all()).toMatchObject([
          { status: 'succeeded', reason: said[0], error: said[0] },
          { status: 'succeeded', reason: said[1], error: said[1] },
          { status: 'succeeded', reason: 'the service answered 200', error: null },
        ])
        expect(report).toMatchObject({
          contradicted: 2,
          settled: { succeeded: 3 },
          outcome: 'done',
        })
        const { exit, lines } = renderPush(report, (command) => `deskmirror ${command}`)
        expect([exit, lines.join('\n')]).toEqual([
          3,
          expect.stringContaining('but still shows it as open'),
        ])
        const groups = await createOutbox(o.warehouse.projectDb(o.sandbox.projectId)).groupReasons(
          {},
        )
        expect(groups).toHaveLength(2)
      },
    )

test('what has its effect is not contradicted, also if the service stores it in another form', async () => {
  const o = await createOutboxFixture({ switches: { 'visitors.stores': 'lower-case' } })
  await o.queue(
    ...o
      .conversations()
      .map((id) => ({ operation: 'handled', conversation_id: id, handled: true })),
    {
      operation: 'visitor',
      visitor_id: o.visitor(0),
      name: 'Ada L',
      email: 'ADA@example.org',
    },
  )
  expect(await o.push()).toMatchObject({ contradicted: 0, reasons: [] })
})
