/**
 * What docs/analytics.md asks of the service's numbers is answered after one sync, on days of the
 * configured zone.
 */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { databases } from '../../support/databases.ts'
import { syncOnce } from './sync-sandbox.ts'

const text = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8')
const [, query = ''] = /## Do our numbers agree .*?```sql\n(.*?)limit 20;\n```/s.exec(text) ?? []

const days = 20
const streams = ['availability', 'conversations', 'visitors', 'calls', 'analytics'] as const
const size = {
  conversations: 300,
  visitors: 100,
  calls: 200,
  messagesPerConversation: [1, 4],
  days,
} as const

test.for(databases)(
  'after one sync a number of the service stands beside ours, day by day — $name',
  async (db) => {
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
    const rows = await warehouse.query(query)
    expect(rows.length).toBeGreaterThanOrEqual(days)
    const total = rows.reduce((sum, { service_value }) => sum + Number(service_value), 0)
    expect(total).toBe(size.conversations)
    for (const row of rows)
      expect(row).toMatchObject({ own_value: Number(row.service_value), difference: 0 })
  },
)
