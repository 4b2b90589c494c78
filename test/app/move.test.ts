/** A warehouse moves to another database with everything, and exactly one of the two is alive. */

import { expect, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { streamNames } from '../../schema/stream-specs.ts'
import { performedWrites } from '../outbox/outbox-fixture.ts'
import { sampledTest } from '../support/sampled.ts'
import { emptyDatabase, fillWarehouse, programOn } from './move-fixture.ts'

const directions = (['sqlite', 'postgres'] as const).flatMap((from) =>
  (['sqlite', 'postgres'] as const).map((to): readonly [DatabaseKind, DatabaseKind] => [from, to]),
)

for (const [kind, other] of directions)
  sampledTest(
    // It moves back, too.
    kind === 'sqlite' && other === 'postgres',
    `everything moves, and goes on there, and can move back: ${kind} to ${other}`,
    async () => {
      const fixture = await fillWarehouse(kind)
      const { move, sync, push, verify, query } = programOn(fixture)
      const { sandbox, instance } = fixture
      const from = instance.url!
      const to = await emptyDatabase(other)
      const streams = streamNames.filter((name) => name !== 'availability')
      const idle = await sync(from, { streams })
      const before = await query(from, 'select count(*) as n from message_rows')
      const versions = `select visitor_id, valid_from, valid_to, name, email, company, updated_at
        from dim_visitor_history order by visitor_id, valid_from`
      const history = await query(from, versions)
      expect(history.filter((row) => row.valid_to !== null).length).toBeGreaterThan(0)

      const report = await move(from, to)
      expect(report).toMatchObject({ outcome: 'moved', whole: true, projects: [sandbox.projectId] })
      expect(await query(to, 'select count(*) as n from message_rows')).toEqual(before)
      expect(await query(to, versions)).toEqual(history)

      await expect(sync(from)).rejects.toThrow(/has moved to/)
      await expect(push(from)).rejects.toThrow(/has moved to/)
      await expect(
        fixture.warehouse.query(`insert into writebacks (operation, visitor_id, payload) values ('note',
        '${fixture.visitor(1)}', '{"content":"x"}')`),
      ).rejects.toThrow(/moved to another database/)
      expect((await verify(from)).differences).toEqual([])

      expect(await verify(to)).toMatchObject({ differences: [] })
      const next = await sync(to, { streams })
      expect(next).toMatchObject({ outcome: 'complete' })
      // Postgres does not keep the order of fields, so SQLite stores them once as the service has it.
      if (kind === other) expect(next.changed).toBe(0)
      // What was young is read once more some time later, wherever it is.
      const [due] = await query(
        from,
        `select count(*) as n from sync_children where due_at <= ${Date.now()}`,
      )
      expect(next.requests).toBeLessThanOrEqual(idle.requests + Number(due!.n))
      await push(to)
      expect(
        performedWrites(sandbox)
          .map(({ operation }) => operation)
          .sort(),
      ).toEqual(['addNote', 'sendMessage', 'sendMessage', 'setHandled'])
      expect(await query(to, 'select status from writebacks order by seq')).toEqual(
        ['succeeded', 'succeeded', 'succeeded', 'succeeded'].map((status) => ({ status })),
      )

      await move(to, from)
      await expect(sync(to)).rejects.toThrow(/has moved to/)
      expect(await sync(from, { mode: 'full' })).toMatchObject({ outcome: 'complete' })
      expect(await verify(from)).toMatchObject({ differences: [] })
      await push(from)
      expect(performedWrites(sandbox)).toHaveLength(4)
    },
  )

test('one project of several moves, into a warehouse that has others', async () => {
  const fixture = await fillWarehouse('sqlite')
  const { move, sync, push, verify, query, change, project } = programOn(fixture)
  const { sandbox } = fixture
  const from = fixture.instance.url!
  const other = await fillWarehouse('postgres', 2)
  const others = programOn(other)
  const to = other.instance.url!
  await change(from, `insert into sync_streams (project_id, stream) values ('another', 'calls')`)
  const places = await query(to, 'select id, seq from writebacks order by seq')
  await expect(move(from, to)).rejects.toThrow(/is in use/)

  expect(await move(from, to, { project })).toMatchObject({
    outcome: 'moved',
    whole: false,
    projects: [sandbox.projectId],
  })
  await expect(sync(from)).rejects.toThrow(/the project .* has moved to/)
  // Others stay where they are, on both sides.
  await change(
    from,
    `update sync_streams set synced_at = '2026-01-01T00:00:00Z' where project_id = 'another'`,
  )
  await expect(change(from, 'delete from visitors')).rejects.toThrow(/moved to another database/)
  const own = `project_id = '${sandbox.projectId}'`
  expect(await query(to, `select id, seq from writebacks where not ${own} order by seq`)).toEqual(
    places,
  )
  expect((await verify(to)).differences).toEqual([])
  expect((await others.verify(to)).differences).toEqual([])
  await sync(to)
  await push(to)
  await others.push(to)
  for (const service of [sandbox, other.sandbox])
    expect(
      performedWrites(service)
        .map(({ operation }) => operation)
        .sort(),
    ).toEqual(['addNote', 'sendMessage', 'sendMessage', 'setHandled'])

  await move(to, from, { project })
  expect(await sync(from)).toMatchObject({ outcome: 'complete' })
  await move(from, to, { project })
  await move(to, from, { project })
  expect((await verify(from)).differences.filter(({ stream }) => stream !== 'analytics')).toEqual(
    [],
  )
})

test('a project that has moved away stays so, wherever the rest of its warehouse moves', async () => {
  const fixture = await fillWarehouse('sqlite')
  const { move, sync, push, project } = programOn(fixture)
  const from = fixture.instance.url!
  const own = await emptyDatabase('sqlite')
  const rest = await emptyDatabase('sqlite')
  await move(from, own, { project })
  await move(from, rest)
  await expect(sync(rest)).rejects.toThrow(/the project .* has moved to/)
  await expect(push(rest)).rejects.toThrow(/the project .* has moved to/)
  await move(own, rest, { project })
  expect(await sync(rest)).toMatchObject({ outcome: 'complete' })
})
