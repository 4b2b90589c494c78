import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { databases } from '../support/databases.ts'
import { findDifferences, syncOnce } from './sync-sandbox.ts'

const [sqlite] = databases

async function withSandbox(work: (url: string, sandbox: Sandbox) => Promise<void>): Promise<void> {
  const place = await sqlite!.make()
  const world = { conversations: 20, visitors: 60, calls: 40, days: 2, messagesPerConversation: [1, 3] } as const
  const switches = { 'rate.kind': 'off', 'recordings.none': '404' } as const
  const sandbox = await startSandbox({ seed: 1, size: { ...world, activityPerVisitor: [1, 2] }, switches })
  try {
    await work(place.url!, sandbox)
  } finally {
    await sandbox.stop()
    await place.drop()
  }
}

async function differencesOf(url: string, sandbox: Sandbox) {
  const warehouse = await openWarehouse(url, { access: 'read' })
  try {
    return await findDifferences(warehouse, sandbox)
  } finally {
    await warehouse.close()
  }
}

test('where most visitors are gone nothing is marked, neither by the list nor by their activity, until a full sync', async () => {
  await withSandbox(async (url, sandbox) => {
    const extra = async () => (await differencesOf(url, sandbox)).filter(({ stream }) => stream === 'visitors').length
    await syncOnce(url, sandbox)
    sandbox.applyRandomMutations(40, 1, ['deleteVisitor'])
    const gone = 60 - [...sandbox.truth('visitors')].length
    expect(gone).toBeGreaterThan(30)
    expect(await syncOnce(url, sandbox, { mode: 'reconcile' })).toMatchObject({ outcome: 'failed' })
    expect(await extra()).toBe(gone)
    await syncOnce(url, sandbox)
    expect(await extra()).toBe(gone)
    expect(await syncOnce(url, sandbox, { mode: 'full' })).toMatchObject({ outcome: 'complete' })
    expect(await extra()).toBe(0)
  })
})

test('that calls without a recording answer 404 is asked of one call only', async () => {
  await withSandbox(async (url, sandbox) => {
    await syncOnce(url, sandbox)
    const asked = sandbox.log().filter(({ path }) => /\/public\/calls\/[^/]+$/.test(path))
    expect(asked.length).toBe(1)
  })
})
