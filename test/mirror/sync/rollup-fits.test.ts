/** The numbers that the service's rollups count as we do are found after one sync, on days of the configured zone. */
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { databases } from '../../support/databases.ts'
import { syncOnce } from './sync-sandbox.ts'

const streams = ['availability', 'conversations', 'visitors', 'calls', 'analytics'] as const
const size = { conversations: 300, visitors: 100, calls: 200, messagesPerConversation: [1, 4], days: 20 } as const

test.for(databases)('after one sync the rollup’s numbers stand beside those of ours that fit — $name', async (db) => {
  const database = await db.makeForSandbox()
  const sandbox = await startSandbox({
    seed: 13,
    speed: 0,
    size,
    now: new Date().toISOString(),
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(async () => {
    await sandbox.stop()
    await database.drop()
  })
  await syncOnce(database.url!, sandbox, { project: { timeZone: 'Asia/Kolkata' }, streams })
  const warehouse = await database.open()
  expect(
    await warehouse.query('select metric, definition from report_rollup_fit where is_fit order by metric'),
  ).toEqual(
    expect.arrayContaining([
      { metric: 'calls.total', definition: 'report_call_day.calls' },
      { metric: 'conversations.started', definition: 'report_conversation_day.started' },
    ]),
  )
})
