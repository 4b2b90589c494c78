/** What the jobs rely on, whatever keeps them: one specification for Redis, Postgres and the embedded store. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { DateTime } from 'luxon'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Backend, JobHandler, JobWorkerOptions } from '../../jobs/backends/backend.ts'
import { ensureSchedule, type JobQueue, type Recurrence } from '../../jobs/backends/schedule.ts'
import type { JobResult } from '../../jobs/job-result.ts'
import { type QueueFixture, queueFixtures } from './queue-fixtures.ts'

type Data = { readonly name: string }
const done: JobResult = { do: 'done' }
/** For what sends no event. */
const patience = { interval: 10, timeout: 20_000 }
const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** What a killed process leaves is found within a second. */
const impatient: JobWorkerOptions = { lockDuration: 300, stalledInterval: 150 }

/** Resolves with all names once so many jobs have begun. */
function counting(
  expected: number,
  verdict: (name: string, time: number) => JobResult | Promise<JobResult> = () => done,
) {
  const names: string[] = []
  const all = Promise.withResolvers<string[]>()
  const work: JobHandler<Data> = async ({ data }) => {
    names.push(data.name)
    if (names.length === expected) all.resolve(names)
    return verdict(data.name, names.filter((name) => name === data.name).length)
  }
  return { work, names, all: all.promise }
}

/** All that is still to come, as `job data`. */
async function pending(queue: JobQueue<Data>): Promise<string[]> {
  const jobs = await queue.getJobs(['delayed', 'waiting'])
  return jobs.map(({ name, data }) => `${name} ${data.name}`)
}

for (const { kind, make, makeCrashable: makeFrail } of queueFixtures) {
  describe(`jobs kept in: ${kind}`, () => {
    let place: QueueFixture
    let backend: Backend
    beforeAll(async () => {
      place = await make()
      backend = await place.open()
    })
    afterAll(async () => {
      await backend.close()
      await place.drop()
    })
    const fresh = () => {
      const name = randomUUID()
      return { name, queue: backend.queue<Data>(name) }
    }
    const add = async (queue: ReturnType<typeof fresh>['queue'], ...names: string[]) => {
      for (const name of names) await queue.add('job', { name })
    }

    test('a schedule keeps to the place in its period, and is not moved by being set again', async () => {
      const { queue } = fresh()
      const rhythm = { every: hourMs, offset: 25 * minuteMs }
      const set = () =>
        backend.ensureSchedules(queue, [{ id: 'desk', recurrence: rhythm, job: 'sync', data: { name: 'desk' } }])
      await set()
      const first = await queue.getJobScheduler('desk')
      expect(first!.next! % hourMs).toBe(25 * minuteMs)
      expect(first!.next!).toBeGreaterThan(Date.now())
      await Promise.all([set(), set(), set()])
      expect((await queue.getJobScheduler('desk'))!.next).toBe(first!.next)
      expect(await pending(queue)).toEqual(['sync desk'])
    })

    test('processes that set new schedules at the same time leave one run of each', async () => {
      const { queue } = fresh()
      const desks = Array.from({ length: 20 }, (_, n) => `desk ${n}`)
      const schedules = desks.map((name) => ({
        id: name,
        recurrence: { every: hourMs, offset: 1 },
        job: 'sync',
        data: { name },
      }))
      await Promise.all([1, 2, 3, 4, 5].map(() => backend.ensureSchedules(queue, schedules)))
      expect((await pending(queue)).toSorted()).toEqual(desks.map((name) => `sync ${name}`).toSorted())
      for (const { next } of await queue.getJobSchedulers()) expect(next! - Date.now()).toBeLessThanOrEqual(hourMs)
    })

    test('a schedule by the clock follows its time zone', async () => {
      const { queue } = fresh()
      const rhythm = { pattern: '30 3 * * *', tz: 'Asia/Kathmandu' }
      await backend.ensureSchedules(queue, [
        { id: 'desk', recurrence: rhythm, job: 'reconcile', data: { name: 'desk' } },
      ])
      const { next } = (await queue.getJobScheduler('desk'))!
      expect(DateTime.fromMillis(next!, { zone: 'Asia/Kathmandu' }).toFormat('HH:mm:ss')).toBe('03:30:00')
      expect(next! - Date.now()).toBeLessThanOrEqual(24 * hourMs)
    })

    test('a schedule that is changed takes effect and leaves one run behind, one that is removed none', async () => {
      const { queue } = fresh()
      const set = (recurrence: Recurrence, name: string) =>
        backend.ensureSchedules(queue, [{ id: 'desk', recurrence: recurrence, job: 'sync', data: { name } }])
      const next = async () => (await queue.getJobScheduler('desk'))!.next!
      await set({ pattern: '0 0 3 1 1 *', tz: 'UTC' }, 'yearly')
      await set({ every: 24 * hourMs, offset: 7 }, 'daily')
      expect(await pending(queue)).toEqual(['sync daily'])
      expect((await next()) % (24 * hourMs)).toBe(7)
      await set({ every: 24 * hourMs, offset: 9 }, 'daily')
      expect((await next()) % (24 * hourMs)).toBe(9)
      await set({ every: hourMs, offset: 9 }, 'hourly')
      expect((await next()) - Date.now()).toBeLessThanOrEqual(hourMs)
      await set({ every: hourMs, offset: 9 }, 'another')
      expect(await pending(queue)).toEqual(['sync another'])
      expect(await queue.removeJobScheduler('desk')).toBe(true)
      expect(await pending(queue)).toEqual([])
    })

    test('a schedule that has stopped is started again', async () => {
      const { queue } = fresh()
      const schedule = { id: 'desk', recurrence: { every: minuteMs, offset: 1 }, job: 'sync', data: { name: 'desk' } }
      await ensureSchedule(queue, schedule, Date.now())
      // Whatever lost its run, BullMQ itself would not let one go.
      await queue.clean(0, 0, 'delayed')
      await ensureSchedule(queue, schedule, Date.now() + 3 * hourMs)
      expect(await pending(queue)).toEqual(['sync desk'])
    })

    test('a schedule goes on whatever becomes of its runs', async () => {
      const { name, queue } = fresh()
      const ends: readonly JobResult[] = [
        { do: 'give up', why: 'denied' },
        { do: 'retry', why: 'unwell' },
        { do: 'again', afterMs: 0 },
        { do: 'rest', forMs: 5 },
      ]
      const { work, all } = counting(8, (_, time) => ends[time - 1] ?? done)
      await queue.upsertJobScheduler('desk', { every: 60 }, { name: 'sync', data: { name: 'sync' } })
      const worker = backend.worker(name, work)
      await all
      await queue.removeJobScheduler('desk')
      await worker.close()
    })

    test('while a run of a schedule goes on, no more than one other waits', async () => {
      const { name, queue } = fresh()
      const held = Promise.withResolvers<JobResult>()
      const { work, all } = counting(1, () => held.promise)
      await queue.upsertJobScheduler('desk', { every: 30 }, { name: 'sync', data: { name: 'sync' } })
      const worker = backend.worker(name, work)
      await all
      const threePeriodsAgo = () => Date.now() - 90
      await vi.waitUntil(async () => {
        const [next] = await queue.getDelayed()
        return next !== undefined && next.timestamp + next.delay < threePeriodsAgo()
      }, patience)
      const { active, waiting, delayed } = await queue.getJobCounts()
      expect({ active, others: waiting! + delayed! }).toEqual({ active: 1, others: 1 })
      await queue.removeJobScheduler('desk')
      held.resolve(done)
      await worker.close()
    })

    test('one id holds one job: while it waits, runs, and is put off', async () => {
      const { name, queue } = fresh()
      const again = () => queue.add('job', { name: 'second' }, { deduplication: { id: 'desk' } })
      const first = await queue.add('job', { name: 'first' }, { deduplication: { id: 'desk' } })
      expect((await again()).id).toBe(first.id)
      const seen: (string | undefined)[] = []
      const ended = Promise.withResolvers<void>()
      const worker = backend.worker<Data>(name, async () => {
        seen.push((await again()).id)
        if (seen.length === 1) return { do: 'again', afterMs: 0 }
        if (seen.length === 2) return { do: 'again', afterMs: hourMs }
        ended.resolve()
        return done
      })
      await vi.waitUntil(async () => seen.length === 2 && (await queue.getDelayedCount()) === 1, patience)
      expect((await again()).id).toBe(first.id)
      await first.promote()
      await ended.promise
      await worker.close()
      expect(seen).toEqual([first.id, first.id, first.id])
      expect((await again()).id).not.toBe(first.id)
    })

    test('an id is held while its job is tried again, and free once that has failed', async () => {
      const { name, queue } = fresh()
      const options = { deduplication: { id: 'desk' }, attempts: 2, backoff: 50 }
      const first = await queue.add('job', { name: 'first' }, options)
      const seen: (string | undefined)[] = []
      const worker = backend.worker<Data>(name, async () => {
        seen.push((await queue.add('job', { name: 'second' }, options)).id)
        return { do: 'retry', why: 'unwell' }
      })
      await new Promise<void>((resolve) => worker.on('failed', (job) => job?.attemptsMade === 2 && resolve()))
      await worker.close()
      expect(seen).toEqual([first.id, first.id])
      expect((await queue.add('job', { name: 'third' }, options)).id).not.toBe(first.id)
    })

    test('jobs run in the order in which they came, and one that goes on goes on behind the others', async () => {
      const { name, queue } = fresh()
      await add(queue, 'long', 'b', 'c', 'd')
      const { work, all } = counting(7, (job, time) =>
        job === 'long' && time < 4 ? { do: 'again', afterMs: time === 1 ? 0 : 0.5 } : done,
      )
      const worker = backend.worker(name, work)
      const order = await all
      expect(order.slice(0, 5)).toEqual(['long', 'b', 'c', 'd', 'long'])
      await worker.close()
    })

    test('only a failed try is an attempt', async () => {
      const { name, queue } = fresh()
      const verdicts: readonly JobResult[] = [
        { do: 'again', afterMs: 0 },
        { do: 'rest', forMs: 1 },
        { do: 'retry', why: 'unwell' },
        { do: 'again', afterMs: 1.5 },
        { do: 'retry', why: 'still unwell' },
      ]
      let time = 0
      const worker = backend.worker(name, async () => verdicts[time++] ?? done)
      const failed = new Promise<string | undefined>((resolve) =>
        worker.on('failed', (job) => job?.attemptsMade === 2 && resolve(job.failedReason)),
      )
      await queue.add('job', { name: 'a' }, { attempts: 2 })
      expect(await failed).toBe('still unwell')
      expect(time).toBe(5)
      await worker.close()
    })

    test('who gives up is not asked again', async () => {
      const { name, queue } = fresh()
      const worker = backend.worker(name, async () => ({ do: 'give up', why: 'denied' }))
      const failed = once(worker, 'failed')
      await queue.add('job', { name: 'a' }, { attempts: 5 })
      await failed
      const [job] = await queue.getFailed()
      expect(job).toMatchObject({ attemptsMade: 1, failedReason: 'denied' })
      await worker.close()
    })

    test('when one job asks for rest, nothing of its queue runs, in no worker, until that is over', async () => {
      const { name, queue } = fresh()
      await add(queue, 'tired', 'b', 'c', 'd')
      const began: { name: string; at: number }[] = []
      const all = Promise.withResolvers<void>()
      const work: JobHandler<Data> = async ({ data }) => {
        began.push({ name: data.name, at: Date.now() })
        if (began.length === 5) all.resolve()
        return began.length === 1 ? { do: 'rest', forMs: 300 } : done
      }
      const first = backend.worker(name, work)
      await once(first, 'active')
      await vi.waitUntil(async () => (await queue.getWaitingCount()) === 4, { ...patience, interval: 1 })
      const second = backend.worker(name, work)
      await all.promise
      for (const { at } of began.slice(1)) expect(at - began[0]!.at).toBeGreaterThanOrEqual(290)
      await Promise.all([first.close(), second.close()])
    })

    test('two workers share a queue, and no job runs twice', async () => {
      const { name, queue } = fresh()
      const names = Array.from({ length: 20 }, (_, n) => `job ${n}`)
      await add(queue, ...names)
      // Nobody may end a first job before the other has one.
      const both = Promise.withResolvers<void>()
      const began = [false, false]
      const { work, all, names: ran } = counting(20)
      const workers = [0, 1].map((one) =>
        backend.worker<Data>(name, async (job, signal) => {
          began[one] = true
          if (began[0] && began[1]) both.resolve()
          await both.promise
          return work(job, signal)
        }),
      )
      await all
      await Promise.all(workers.map((worker) => worker.close()))
      expect(ran.toSorted()).toEqual(names.toSorted())
    })

    test('closing ends what is active, begins nothing more, and the next to open finds the rest', async () => {
      const own = await make()
      const before = await own.open()
      const queue = before.queue<Data>('q')
      for (const name of ['a', 'b', 'c']) await queue.add('job', { name })
      await queue.upsertJobScheduler('desk', { every: hourMs, offset: 7 }, { name: 'sync' })
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
      const { work, all } = counting(2)
      after.worker('q', work)
      expect(await all).toEqual(['b', 'c'])
      expect(await after.queue<Data>('q').getJobSchedulersCount()).toBe(1)
      await after.close()
      await own.drop()
    })

    test('what a killed process had begun is begun again, once, and its id is held until then', async () => {
      const own = await make()
      const options = { deduplication: { id: 'desk' } }
      const before = await own.open()
      const first = await before.queue<Data>('q').add('job', { name: 'begun' }, options)
      await before.queue<Data>('q').add('job', { name: 'waiting' })
      // The embedded store has room for one process.
      await before.close()
      const child = await own.startUnendingJob('q')
      child.kill('SIGKILL')
      await once(child, 'exit')

      const after = await own.open()
      const queue = after.queue<Data>('q')
      expect((await queue.add('job', { name: 'other' }, options)).id).toBe(first.id)
      const { work, all } = counting(2)
      const worker = after.worker('q', work, impatient)
      expect((await all).toSorted()).toEqual(['begun', 'waiting'])
      await worker.close()
      expect((await queue.add('job', { name: 'other' }, options)).id).not.toBe(first.id)
      await after.close()
      await own.drop()
    })

    // The embedded store has no server: its process is the one that dies, above.
    if (makeFrail === null) return
    test('a server that dies and comes back has lost nothing, and workers go on', async () => {
      const own = await makeFrail()
      const opened = await own.open()
      const queue = opened.queue<Data>('q')
      await queue.upsertJobScheduler('desk', { every: hourMs, offset: 7 }, { name: 'sync' })
      const { work, all: both } = counting(2)
      const waiting = opened.worker('q', work)
      const drained = once(waiting, 'drained')
      await queue.add('job', { name: 'before' })
      await drained
      const other = opened.queue<Data>('other')
      for (const name of ['a', 'b', 'c']) await other.add('job', { name })

      // A worker that begins just then, too.
      const rest = counting(4)
      const { promise: idle, resolve: onIdle } = Promise.withResolvers<void>()
      await own.crash(async () => {
        opened.worker('other', rest.work).once('drained', onIdle)
        await opened.ping().catch(() => {})
      })
      await vi.waitUntil(
        () =>
          opened.ping().then(
            () => true,
            () => false,
          ),
        patience,
      )
      await idle
      await other.add('job', { name: 'd' })
      expect((await rest.all).toSorted()).toEqual(['a', 'b', 'c', 'd'])
      // The worker that was waiting all along, too.
      await queue.add('job', { name: 'after' })
      expect(await both).toEqual(['before', 'after'])
      expect(await queue.getJobSchedulersCount()).toBe(1)
      await opened.close()
      await own.drop()
    })
  })
}
