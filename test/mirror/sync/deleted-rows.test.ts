import { expect, test } from 'vitest'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 20, visitors: 60, calls: 40, days: 2 }
const size = { ...lists, messagesPerConversation: [1, 3], activityPerVisitor: [1, 2] } as const
const options = { seed: 1, size, switches: { 'recordings.none': '404' } } as const

test('if most visitors are gone, nothing is marked until a full sync, neither by the list nor by their activity', async () => {
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const extraVisitors = async () =>
      (await findDifferences(warehouse, sandbox)).filter(({ stream }) => stream === 'visitors')
        .length
    await sync()
    sandbox.applyRandomMutations(40, 1, ['deleteVisitor'])
    const deleted = 60 - [...sandbox.truth('visitors')].length
    expect(deleted).toBeGreaterThan(30)
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'failed' })
    expect(await extraVisitors()).toBe(deleted)
    await sync()
    expect(await extraVisitors()).toBe(deleted)
    expect(await sync({ mode: 'full' })).toMatchObject({ outcome: 'complete' })
    expect(await extraVisitors()).toBe(0)
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
