/** Graces, expiries and claims go by the clock of the database, whatever the clock of a machine says. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { decideWritebacks } from '../../src/app/outbox.ts'
import { sqliteAndPostgres } from '../support/databases.ts'
import { configOf } from '../sync/sync-sandbox.ts'
import { openOutbox, queueFlags } from './batch-fixture.ts'
import { createOutboxFixture, performedWrites } from './outbox-fixture.ts'

/** Of this machine, by so many seconds. */
const setClockBy = (seconds: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1000 })

afterEach(() => void vi.useRealTimers())

const postgres = sqliteAndPostgres.filter(({ name }) => name === 'postgres')

describe.each([-60, 60])('on a machine whose clock is off by %d s', (seconds) => {
  test.for(postgres)('an approval has its whole grace, and can be taken back as long', async (database) => {
    setClockBy(seconds)
    const { warehouse, admin } = await openOutbox(database)
    await queueFlags(admin, 2, { status: 'draft' })
    await admin.decide('approved', { batch: 'flags' }, { by: 'bea', graceMs: 30_000 })
    const [left] = await warehouse.query(`select min(undo_until - extract(epoch from clock_timestamp()) * 1000) as ms,
      min(due_at - undo_until) as differs from writebacks`)
    expect(Number(left?.ms)).toBeGreaterThan(25_000)
    expect(Number(left?.ms)).toBeLessThan(30_001)
    expect(Number(left?.differs)).toBe(0)
    expect(await admin.findRest('flags')).not.toBeNull()
    await admin.decideBatch('stopped', 'flags', 'bea')
    await admin.decideBatch('resumed', 'flags', 'bea')
    expect(await admin.findRest('flags')).not.toBeNull()
    expect(await admin.decide('approval_undone', {}, { by: 'bea' })).toMatchObject({ count: 2 })
  })

  test('nothing is sent within a grace or after an expiry, and the command says that the clock is off', async () => {
    const o = await createOutboxFixture({ database: 'postgres', project: { approveGraceMs: 30_000 } })
    const admin = o.warehouse.outboxAdmin(o.sandbox.projectId)
    const inSeconds = (n: number) => new Date(Date.now() + n * 1000).toISOString().replace(/\.\d+/, '')
    const flag = (n: number) => ({ operation: 'handled', conversation_id: o.conversation(n), handled: true })
    await o.queue({ ...flag(0), expires_at: inSeconds(-30) }, { ...flag(1), expires_at: inSeconds(30) }, flag(2))
    const [, , last] = await o.all()
    await o.warehouse.query(`update writebacks set status = 'draft' where id = '${last?.id}'`)
    await admin.decide('approved', { ids: [last?.id ?? ''] }, { by: 'bea', graceMs: 30_000 })
    setClockBy(seconds)
    const stop = new AbortController()
    const pushing = o.push({ signal: stop.signal })
    await vi.waitUntil(async () => (await admin.countByStatus({})).succeeded === 1, { timeout: 10_000 })
    stop.abort()
    await pushing
    expect(await o.statuses()).toEqual(['expired', 'succeeded', 'queued'])
    expect(performedWrites(o.sandbox)).toHaveLength(1)
    const config = configOf(o.instance.url ?? '', o.project)
    const undone = await decideWritebacks(config, o.project, 'approval_undone', { selection: {}, by: 'bea' })
    expect(undone).toMatchObject({ moved: 1, notices: [expect.stringMatching(/clock.*(60|59|61) s (ahead|behind)/)] })
  })
})
