/**
 * `verify` over a sandbox: what should be mirrored is compared, and what cannot be compared is
 * said.
 */
import { pino } from 'pino'
import { describe, expect, onTestFinished } from 'vitest'
import { streamNames } from '../../../schema/stream-specs.ts'
import { verifyProject } from '../../../src/app/verify.ts'
import type { ProjectConfig } from '../../../src/config/config.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { databases, type TestDatabase } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { configOf, projectConfigOf, type SyncOverrides, syncOnce } from '../sync/sync-sandbox.ts'

const testOnOne = createTestOnOne('postgres')

async function startMirror(db: TestDatabase) {
  const database = await db.makeForSandbox()
  const size = {
    conversations: 6,
    visitors: 6,
    calls: 6,
    messagesPerConversation: [1, 2],
    days: 6,
  } as const
  const switches = { 'rate.kind': 'off' } as const
  const sandbox = await startSandbox({
    seed: 7,
    speed: 0,
    now: '2026-06-15T12:00:00Z',
    size,
    switches,
  })
  onTestFinished(async () => {
    await sandbox.stop()
    await database.drop()
  })
  const sync = (over: SyncOverrides = {}) => syncOnce(database.url!, sandbox, over)
  const verify = async (
    over: Partial<ProjectConfig> = {},
    streams = streamNames,
    sampleSize?: number,
  ) => {
    const project = projectConfigOf(sandbox, over)
    const log = pino({ level: 'silent' })
    const { signal } = new AbortController()
    const options = { streams, sampleSize, limit: 20, signal, onProgress: () => {}, log }
    const report = await verifyProject(configOf(database.url!, project), project, options)
    return {
      ...report,
      of: (name: string) => report.streams.find(({ stream }) => stream === name)!,
    }
  }
  return { sandbox, sync, verify, warehouse: await database.open() }
}

describe.each(databases)('verify — $name', (db) => {
  testOnOne(
    db.name,
    'one refused day, one refused recording and one list that fails end nothing but themselves',
    async () => {
      const { sandbox, sync, verify } = await startMirror(db)
      await sync()
      const before = await verify()
      expect(
        before.streams.every(
          ({ differing, incomplete }) => differing === 0 && incomplete === undefined,
        ),
      ).toBe(true)
      sandbox.setSwitches({ 'analytics.unreadable': '2026-06-12', 'fault.status': 400 })
      sandbox.scriptFault({ kind: 'status', operation: 'getRecording', times: 1 })
      sandbox.scriptFault({ kind: 'status', operation: 'listVisitors', times: 1000 })
      const after = await verify()
      expect(after.of('analytics')).toMatchObject({
        compared: before.of('analytics').compared - 1,
        incomplete: expect.stringContaining('is a day without a rollup'),
      })
      for (const name of ['visitors', 'call_recordings'])
        expect(after.of(name).incomplete).toContain('400')
      for (const name of ['conversations', 'messages', 'calls'])
        expect(after.of(name)).toEqual(before.of(name))
    },
  )

  testOnOne(
    db.name,
    'a day that should be mirrored and is not is missing, and a stream that no sync has read is not complete',
    async () => {
      const { sync, verify, warehouse } = await startMirror(db)
      await sync({ streams: ['conversations', 'messages', 'calls', 'analytics'] })
      const startDate = Date.parse('2026-06-10T00:00:00Z') / 1000
      expect((await verify({ startDate }, ['analytics'])).of('analytics')).toMatchObject({
        differing: 6,
        incomplete: expect.stringContaining('no sync has read it'),
      })
      await sync()
      await warehouse.query(`delete from analytics_rollups where day > '2026-06-11'`)
      const report = await verify()
      expect(report.of('analytics').differing).toBe(4)
      expect(report.differences[0]).toMatchObject({ stream: 'analytics', kind: 'missing here' })
    },
  )

  testOnOne(
    db.name,
    'a column that says something else than the row is a difference, also where the row is that of the service',
    async () => {
      const { sync, verify, warehouse } = await startMirror(db)
      await sync()
      expect((await verify()).differences).toEqual([])
      const [visitor] = await warehouse.query('select id from visitors order by id limit 1')
      const [field] = await warehouse.query(
        `select column_name as name from discovered_fields where stream = 'calls' and type = 'text' order by path limit 1`,
      )
      await warehouse.query(`update visitors set name = 'Nobody' where id = '${visitor!.id}'`)
      await warehouse.query(
        `update calls set "${field!.name}" = 'nothing' where id = (select min(id) from calls)`,
      )
      const report = await verify()
      expect(report.differences).toEqual([
        { stream: 'visitors', key: visitor!.id, kind: 'different', fields: ['column name'] },
        {
          stream: 'calls',
          key: expect.any(String),
          kind: 'different',
          fields: [`column ${field!.name}`],
        },
      ])
      expect(report.of('visitors').differing).toBe(1)
      // Calls are not drawn.
      expect((await verify({}, streamNames, 100)).differences).toEqual([report.differences[0]])
    },
  )

  testOnOne(db.name, 'a sync that reads such a row again corrects its column', async () => {
    const { sync, verify, warehouse } = await startMirror(db)
    await sync()
    const ofVisitors = async () => {
      const { streams } = await sync({ mode: 'reconcile' })
      return streams.find(({ stream }) => stream === 'visitors')?.changed
    }
    expect(await ofVisitors()).toBe(0)
    await warehouse.query("update visitors set name = 'Nobody'")
    expect(await ofVisitors()).toBe(6)
    expect((await verify()).differences).toEqual([])
    expect(await ofVisitors()).toBe(0)
  })

  testOnOne(db.name, 'living rows from before a later start date are not called gone', async () => {
    const { sync, verify } = await startMirror(db)
    await sync()
    const startDate = Date.parse('2026-06-14T00:00:00Z') / 1000
    expect((await verify({ startDate })).differences).toEqual([])
  })
})
