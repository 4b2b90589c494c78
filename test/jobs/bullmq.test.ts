/** What several processes rely on that share a queue in Redis. */

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  JobHandler,
  JobResult,
  JobWorkerOptions,
  Recurrence,
} from '../../jobs/backends/backend.ts'
import { type BullQueue, ensureSchedule } from '../../jobs/backends/bullmq/bullmq.ts'
import { waitUntil } from '../support/wait.ts'
import {
  type BullBackend,
  type BullFixture,
  createCrashableRedis,
  createRedisFixture,
} from './queue-fixtures.ts'

type Data = { readonly name: string }
const done: JobResult = { do: 'done' }
/** For waiting on what sends no event. */
const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Jobs of a killed process are found within a second. */
const shortLocks: JobWorkerOptions = { lockMs: 300 }

/**
 * A handler that counts jobs; `all` resolves with their names once `expected` of them have started.
 */
function countJobs(expected: number, resultOf: () => JobResult | Promise<JobResult> = () => done) {
  const names: string[] = []
  const all = Promise.withResolvers<string[]>()
  const work: JobHandler<Data> = async ({ data }) => {
    names.push(data.name)
    if (names.length === expected) all.resolve(names)
    return resultOf()
  }
  return { work, names, all: all.promise }
}

/** A command of redis-cli. */
async function runStep(url: string, step: string): Promise<void> {
  const [program, arguments_ = ''] = step.split(' -u "$DESKMIRROR_QUEUE_URL" ')
  expect(program).toBe('redis-cli')
  const [command = '', ...values] = arguments_.split(' ')
  const redis = new Redis(url)
  await redis.call(command, ...values)
  redis.disconnect()
}

/** All pending jobs, as `job data`. */
async function pending(queue: BullQueue<Data>): Promise<string[]> {
  const jobs = await queue.getJobs(['delayed', 'waiting'])
  return jobs.map(({ name, data }) => `${name} ${data.name}`)
}

describe('jobs in Redis', () => {
  let fixture: BullFixture
  let backend: BullBackend
  beforeAll(async () => {
    fixture = await createRedisFixture()
    backend = await fixture.open()
  })
  afterAll(async () => {
    await backend.close()
    await fixture.drop()
  })
  const fresh = () => {
    const name = randomUUID()
    return { name, queue: backend.queue<Data>(name) }
  }
  const add = async (queue: ReturnType<typeof fresh>['queue'], ...names: string[]) => {
    for (const name of names) await queue.add('job', { name })
  }

  test('the step to resume a paused queue resumes it, and its jobs run', async () => {
    const { name, queue } = fresh()
    await queue.pause()
    const { work, all } = countJobs(1)
    backend.worker(name, work)
    await add(queue, 'waits')
    expect(await queue.isPaused()).toBe(true)
    await runStep(fixture.url, backend.resumeStep(queue.name))
    expect(await queue.isPaused()).toBe(false)
    expect(await all).toEqual(['waits'])
  })

  test('processes that set new schedules concurrently leave one run of each', async () => {
    const { queue } = fresh()
    const names = Array.from({ length: 20 }, (_, n) => `shop ${n}`)
    const schedules = names.map((name) => ({
      id: name,
      recurrence: { every: hourMs, offset: 1 },
      job: 'sync',
      data: { name },
    }))
    await Promise.all([1, 2, 3, 4, 5].map(() => backend.ensureSchedules(queue, schedules)))
    expect((await pending(queue)).toSorted()).toEqual(
      names.map((name) => `sync ${name}`).toSorted(),
    )
    for (const { next } of await queue.getJobSchedulers())
      expect(next! - Date.now()).toBeLessThanOrEqual(hourMs)
  })

  test('a changed schedule takes effect with one pending run, and a removed one has none', async () => {
    const { queue } = fresh()
    const set = (recurrence: Recurrence, name: string) =>
      backend.ensureSchedules(queue, [{ id: 'shop', recurrence, job: 'sync', data: { name } }])
    const next = async () => (await queue.getJobScheduler('shop'))!.next!
    await set({ pattern: '0 0 3 1 1 *', tz: 'UTC' }, 'yearly')
    await set({ every: 24 * hourMs, offset: 7 }, 'daily')
    expect(await pending(queue)).toEqual(['sync daily'])
    await set({ every: hourMs, offset: 9 }, 'hourly')
    expect((await next()) - Date.now()).toBeLessThanOrEqual(hourMs)
    await set({ every: hourMs, offset: 9 }, 'another')
    expect(await pending(queue)).toEqual(['sync another'])
    expect(await queue.removeJobScheduler('shop')).toBe(true)
    expect(await pending(queue)).toEqual([])
  })

  test('a schedule that has stopped is restarted', async () => {
    const { queue } = fresh()
    const schedule = {
      id: 'shop',
      recurrence: { every: minuteMs, offset: 1 },
      job: 'sync',
      data: { name: 'shop' },
    }
    await ensureSchedule(queue, schedule, Date.now())
    // BullMQ itself does not remove a schedule's run.
    await queue.clean(0, 0, 'delayed')
    await ensureSchedule(queue, schedule, Date.now() + 3 * hourMs)
    expect(await pending(queue)).toEqual(['sync shop'])
  })

  test('while a run of a schedule is active, at most one other waits', async () => {
    const { name, queue } = fresh()
    const blocked = Promise.withResolvers<JobResult>()
    const { work, all } = countJobs(1, () => blocked.promise)
    await queue.upsertJobScheduler('shop', { every: 30 }, { name: 'sync', data: { name: 'sync' } })
    const worker = backend.worker(name, work)
    await all
    const threePeriodsAgo = () => Date.now() - 90
    await waitUntil(async () => {
      // A job that is due may be called waiting, although no worker is free for it.
      const [next] = [...(await queue.getDelayed()), ...(await queue.getWaiting())]
      return next !== undefined && next.timestamp + next.delay < threePeriodsAgo()
    })
    const { active, waiting, delayed } = await queue.getJobCounts()
    expect({ active, others: waiting! + delayed! }).toEqual({ active: 1, others: 1 })
    await queue.removeJobScheduler('shop')
    blocked.resolve(done)
    await worker.close()
  })

  test('what a schedule adds has no id, so it runs beside a job that others asked for', async () => {
    const { name, queue } = fresh()
    const release = Promise.withResolvers<JobResult>()
    const { work, names, all } = countJobs(2, () => release.promise)
    const opts = { deduplication: { id: 'shop' } }
    backend.worker(name, work, { concurrency: 2 })
    await queue.add('sync', { name: 'webhook' }, opts)
    await queue.add('sync', { name: 'maintenance' }, opts)
    const job = { name: 'sync', data: { name: 'schedule' } }
    await queue.upsertJobScheduler('shop', { every: 50 }, job)
    expect(await all).toEqual(['webhook', 'schedule'])
    await queue.removeJobScheduler('shop')
    release.resolve(done)
    await expect.poll(async () => pending(queue)).toEqual([])
    expect(names).not.toContain('maintenance')
  })

  test('two workers share a queue, and no job runs twice', async () => {
    const { name, queue } = fresh()
    const names = Array.from({ length: 20 }, (_, n) => `job ${n}`)
    await add(queue, ...names)
    // No worker may end its first job before the other one has one.
    const both = Promise.withResolvers<void>()
    const began = [false, false]
    const { work, all, names: ran } = countJobs(20)
    const workers = [0, 1].map((index) =>
      backend.worker<Data>(name, async (job) => {
        began[index] = true
        if (began[0] && began[1]) both.resolve()
        await both.promise
        return work(job)
      }),
    )
    await all
    await Promise.all(workers.map((worker) => worker.close()))
    expect(ran.toSorted()).toEqual(names.toSorted())
  })

  test('closing finishes active jobs and starts no others; the next process finds the rest', async () => {
    const own = await createRedisFixture()
    const before = await own.open()
    const queue = before.queue<Data>('q')
    for (const name of ['a', 'b', 'c']) await queue.add('job', { name })
    await queue.upsertJobScheduler('shop', { every: hourMs, offset: 7 }, { name: 'sync' })
    const begun = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const ended: string[] = []
    before.worker<Data>('q', async ({ data }) => {
      begun.resolve()
      await release.promise
      ended.push(data.name)
      return done
    })
    await begun.promise
    const closed = before.close()
    release.resolve()
    await closed
    expect(ended).toEqual(['a'])

    const after = await own.open()
    const { work, all } = countJobs(2)
    after.worker('q', work)
    expect(await all).toEqual(['b', 'c'])
    expect(await after.queue<Data>('q').getJobSchedulersCount()).toBe(1)
    await after.close()
    await own.drop()
  })

  test('a job of a killed process runs again, once, and its id is taken until then', async () => {
    const own = await createRedisFixture()
    const options = { deduplication: { id: 'shop' } }
    const before = await own.open()
    const first = await before.queue<Data>('q').add('job', { name: 'begun' }, options)
    await before.queue<Data>('q').add('job', { name: 'waiting' })
    await before.close()
    const child = await own.startUnendingJob('q')
    child.kill('SIGKILL')
    await once(child, 'exit')

    const after = await own.open()
    const queue = after.queue<Data>('q')
    expect((await queue.add('job', { name: 'other' }, options)).id).toBe(first.id)
    const { work, all } = countJobs(2)
    const worker = after.worker('q', work, shortLocks)
    expect((await all).toSorted()).toEqual(['begun', 'waiting'])
    await worker.close()
    expect((await queue.add('job', { name: 'other' }, options)).id).not.toBe(first.id)
    await after.close()
    await own.drop()
  })

  test('a server that crashes and recovers has lost nothing, and workers continue', async () => {
    const own = await createCrashableRedis()
    const opened = await own.open()
    const queue = opened.queue<Data>('q')
    await queue.upsertJobScheduler('shop', { every: hourMs, offset: 7 }, { name: 'sync' })
    const { work, all: both } = countJobs(2)
    const waiting = opened.worker('q', work)
    const drained = once(waiting, 'drained')
    await queue.add('job', { name: 'before' })
    await drained
    const other = opened.queue<Data>('other')
    for (const name of ['a', 'b', 'c']) await other.add('job', { name })

    // Also a worker that starts during the outage.
    const remaining = countJobs(4)
    const { promise: idle, resolve: onIdle } = Promise.withResolvers<void>()
    await own.crash(async () => {
      opened.worker('other', remaining.work).once('drained', onIdle)
      await opened.ping().catch(() => {})
    })
    await waitUntil(() =>
      opened.ping().then(
        () => true,
        () => false,
      ),
    )
    await idle
    await other.add('job', { name: 'd' })
    expect((await remaining.all).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    // Also the worker that was waiting before the outage.
    await queue.add('job', { name: 'after' })
    expect(await both).toEqual(['before', 'after'])
    expect(await queue.getJobSchedulersCount()).toBe(1)
    await opened.close()
    await own.drop()
  })
})
