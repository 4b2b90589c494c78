/**
 * Graces, expiries and claims go by the clock of the database, whatever the clock of a machine
 * says.
 */

import { afterEach, describe, expect, test, vi } from 'vitest'
import { decideBatch, revertBatchOf } from '../../src/app/batches.ts'
import { decideWritebacks } from '../../src/app/outbox.ts'
import { readBatchData } from '../../src/console/pages/batch.ts'
import { readWritebackData } from '../../src/console/pages/writeback.ts'
import { unconfiguredProject } from '../../src/console/project.ts'
import { createReviews } from '../../src/console/reviews.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { configOf } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { waitUntil } from '../support/wait.ts'
import { openOutbox, queueFlags, project as shop } from './batch-fixture.ts'
import { createOutboxFixture, performedWrites, singleItem, toRequest } from './outbox-fixture.ts'

const shown = unconfiguredProject(shop, 'UTC')

/** Of this machine, by so many seconds. */
const setClockBy = (seconds: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1000 })

afterEach(() => void vi.useRealTimers())

const postgres = databases.filter(({ name }) => name === 'postgres')

describe.each([-60, 60])('on a machine whose clock is off by %d s', (seconds) => {
  test.for(postgres)(
    'an approval has its whole grace, and can be taken back as long',
    async (database) => {
      setClockBy(seconds)
      const { warehouse, admin } = await openOutbox(database)
      await queueFlags(admin, 2, { status: 'draft' })
      await admin.decide('approved', { batch: 'flags' }, { by: 'bea', graceMs: 30_000 })
      const [left] =
        await warehouse.query(`select min(undo_until - extract(epoch from clock_timestamp()) * 1000) as ms,
      min(due_at - undo_until) as differs from writebacks`)
      expect(Number(left?.ms)).toBeGreaterThan(25_000)
      expect(Number(left?.ms)).toBeLessThan(30_001)
      expect(Number(left?.differs)).toBe(0)
      expect(await admin.findBatchRest('flags')).not.toBeNull()
      await admin.decideBatch('stopped', 'flags', 'bea')
      await admin.decideBatch('resumed', 'flags', 'bea')
      expect(await admin.findBatchRest('flags')).not.toBeNull()
      const reviews = createReviews(async () => ({ outbox: admin, at: Date.now() }), Date.now)
      const reads = { reviews }
      const { signal } = new AbortController()
      const request = { reads, warehouse, outbox: admin, project: shown, signal, query: () => null }
      const { undoUntil } = (await readBatchData({ ...request, id: 'flags' })) ?? {}
      expect(undoUntil).toMatch(/Z$/)
      const [{ id } = { id: '' }] = await admin.list({}, 1)
      expect(await readWritebackData({ ...request, id })).toMatchObject({ undoUntil })
      await warehouse.query(
        'update writebacks set undo_until = (extract(epoch from now()) * 1000)::bigint - 1000',
      )
      expect(await readBatchData({ ...request, id: 'flags' })).toMatchObject({ undoUntil: null })
      await warehouse.query(
        'update writebacks set undo_until = (extract(epoch from now()) * 1000)::bigint + 9000',
      )
      expect(await admin.decide('approval_undone', {}, { by: 'bea' })).toMatchObject({ count: 2 })
    },
  )

  test('stopping, resuming and reverting say so, too', async () => {
    const { project, instance, conversation, ...o } = await createOutboxFixture({
      database: 'postgres',
    })
    const flag = (n: number) =>
      toRequest({ operation: 'handled', conversation_id: conversation(n), handled: true })
    const options = {
      status: 'queued',
      batchId: 'flags',
      createdBy: 'ann',
      expiresAt: null,
    } as const
    const admin = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
    await admin.enqueue(singleItem([flag(0)]), options)
    const config = configOf(instance.url ?? '', project)
    const request = { batch: 'flags', by: 'ann' }
    setClockBy(seconds)
    const notices = [expect.stringMatching(/^the clock of this machine is \d+ s /)]
    expect(await decideBatch(config, project, 'stopped', request)).toMatchObject({
      moved: 1,
      notices,
    })
    expect(await decideBatch(config, project, 'resumed', request)).toMatchObject({
      moved: 1,
      notices,
    })
    await o.push()
    expect(await revertBatchOf(config, project, request)).toMatchObject({
      reverts: 'flags',
      notices,
    })
  })

  test('nothing is sent within a grace or after an expiry, and the command says that the clock is off', async () => {
    const o = await createOutboxFixture({
      database: 'postgres',
      project: { approveGraceMs: 30_000 },
    })
    const admin = createOutbox(o.warehouse.projectDb(o.sandbox.projectId))
    const inSeconds = (n: number) =>
      new Date(Date.now() + n * 1000).toISOString().replace(/\.\d+/, '')
    const flag = (n: number) => ({
      operation: 'handled',
      conversation_id: o.conversation(n),
      handled: true,
    })
    await o.queue(
      { ...flag(0), expires_at: inSeconds(-30) },
      { ...flag(1), expires_at: inSeconds(30) },
      flag(2),
    )
    const [, , last] = await o.all()
    await o.warehouse.query(`update writebacks set status = 'draft' where id = '${last?.id}'`)
    await admin.decide('approved', { ids: [last?.id ?? ''] }, { by: 'bea', graceMs: 30_000 })
    setClockBy(seconds)
    const stop = new AbortController()
    const pushing = o.push({ signal: stop.signal })
    await waitUntil(async () => (await admin.countByStatus({})).succeeded === 1)
    stop.abort()
    await pushing
    expect(await o.statuses()).toEqual(['expired', 'succeeded', 'queued'])
    expect(performedWrites(o.sandbox)).toHaveLength(1)
    const config = configOf(o.instance.url ?? '', o.project)
    const undone = await decideWritebacks(config, o.project, 'approval_undone', {
      selection: {},
      by: 'bea',
    })
    // The faked clock stands still, so it is off by some seconds more or less than at the start.
    const off = new RegExp(`clock.* [4-8]\\d s ${seconds < 0 ? 'behind' : 'ahead'}`)
    expect(undone).toMatchObject({ moved: 1, notices: [expect.stringMatching(off)] })
  })
})
