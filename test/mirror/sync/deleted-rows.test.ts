import { expect, test } from 'vitest'
import { renderSync } from '../../../src/cli/sync.ts'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const testOnOne = createTestOnOne()

const lists = { conversations: 12, visitors: 36, calls: 8, days: 2 }
const size = { ...lists, messagesPerConversation: [1, 3], activityPerVisitor: [1, 2] } as const
const options = { seed: 1, size, switches: { 'recordings.none': '404' } } as const

test('if most visitors are gone, nothing is marked until a full sync, neither by the list nor by their activity', async () => {
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const extraVisitors = async () =>
      (await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'visitors')
        .length
    await sync()
    sandbox.applyRandomMutations(30, 1, ['deleteVisitor'])
    const deleted = 36 - [...sandbox.truth('visitors')].length
    expect(deleted).toBeGreaterThan(25)
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'gaps' })
    expect(await extraVisitors()).toBe(deleted)
    await sync()
    expect(await extraVisitors()).toBe(deleted)
    expect(await sync({ mode: 'full' })).toMatchObject({ outcome: 'complete' })
    expect(await extraVisitors()).toBe(0)
  })
})

const parents = {
  conversations: { mutation: 'deleteConversation', child: 'messages' },
  visitors: { mutation: 'deleteVisitor', child: 'visitor_activity' },
  calls: { mutation: 'deleteCall', child: 'call_recordings' },
} as const

for (const stream of ['conversations', 'visitors', 'calls'] as const)
  for (const db of databases)
    testOnOne(
      db.name,
      `while too many ${stream} are missing, a person has to act: it is said once, and nothing of them is requested — ${db.name}`,
      async () => {
        const { mutation, child } = parents[stream]
        const few = { conversations: 5, visitors: 5, calls: 5 }
        const many = { ...options, db, size: { ...size, ...few, [stream]: 36 } }
        await withSandbox(many, async ({ sandbox, warehouse, sync }) => {
          await sync()
          const before = new Set([...sandbox.truth(stream)].map(({ id }) => String(id)))
          sandbox.applyRandomMutations(30, 1, [mutation])
          for (const { id } of sandbox.truth(stream)) before.delete(String(id))
          expect(before.size).toBeGreaterThan(25)
          const { length: known } = sandbox.log()
          for (const mode of ['reconcile', 'reconcile', 'incremental', 'incremental'] as const) {
            await warehouse.query('update sync_children set due_at = 1 where due_at is not null')
            const report = await sync({ mode })
            const { lines, exit } = renderSync(report)
            expect(exit).toBe(3)
            const said = lines.filter((line) => line.includes(`mirrored ${stream}`))
            expect(said).toEqual([expect.stringContaining('run `deskmirror sync --mode full`')])
            expect(report.gaps).toMatchObject([{ stream }])
          }
          const requested = sandbox.log().slice(known)
          const about = requested.filter(({ path }) => path.split('/').some((id) => before.has(id)))
          expect(about).toEqual([])
          expect(await sync({ mode: 'full' })).toMatchObject({ outcome: 'complete' })
          expect(
            await findDifferences(warehouse, sandbox, sandbox.projectId, [stream, child]),
          ).toEqual([])
        })
      },
    )

test('rows that are listed again after such a doubt are read again where they have changed', async () => {
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.setSwitches({ 'missing.rows': 'all' })
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'gaps' })
    sandbox.applyRandomMutations(30, 3, ['visitorWrites', 'agentReplies'])
    sandbox.setSwitches({ 'missing.rows': 'none' })
    await sync()
    expect(await findDifferences(warehouse, sandbox, sandbox.projectId, ['messages'])).toEqual([])
    await sync({ mode: 'reconcile' })
    expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('a row that is answered 410 is deleted, and keeps no other row waiting', async () => {
  await withSandbox(
    { ...options, switches: { 'missing.status': '410' } },
    async ({ sandbox, warehouse, sync }) => {
      await sync()
      sandbox.applyRandomMutations(6, 1, ['deleteVisitor', 'deleteConversation', 'deleteCall'])
      expect(await sync()).toMatchObject({ outcome: 'complete' })
      expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete' })
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
    },
  )
})

test('a row that is of another project is a gap, and keeps no other row waiting', async () => {
  await withSandbox(
    { ...options, switches: { 'missing.status': '403' } },
    async ({ sandbox, warehouse, sync }) => {
      await sync()
      sandbox.applyRandomMutations(6, 1, ['deleteConversation', 'deleteCall'])
      sandbox.applyRandomMutations(20, 2, ['addConversation', 'addCall', 'agentReplies'])
      await sync()
      const { gaps } = await sync({ mode: 'reconcile' })
      const different = await findDifferences(warehouse, sandbox)
      expect(new Set(different.map(({ how }) => how))).toEqual(new Set(['extra']))
      const rows = new Set(
        different.flatMap(({ stream, key }) =>
          /^(conversations|calls)$/.test(stream) ? [key] : [],
        ),
      )
      expect(rows.size).toBeGreaterThan(3)
      const reasons = gaps
        .map(({ reason }) => reason)
        .filter((reason) => reason.includes('api_key_wrong_project'))
      for (const id of rows) expect(reasons.join()).toContain(id)
    },
  )
})

test('whether calls without a recording answer 404 is checked with one call only', async () => {
  await withSandbox(options, async ({ sandbox, sync }) => {
    await sync()
    const requests = sandbox.log().filter(({ path }) => /\/public\/calls\/[^/]+$/.test(path))
    expect(requests.length).toBe(1)
  })
})
