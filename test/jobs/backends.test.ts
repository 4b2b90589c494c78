/**
 * What jobs rely on, whatever the queue is kept in: one specification for Redis and the process
 * itself.
 */
import { randomUUID } from 'node:crypto'
import { DateTime } from 'luxon'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  Backend,
  JobHandler,
  JobQueue,
  JobResult,
  NewJob,
  Recurrence,
} from '../../jobs/backends/backend.ts'
import { type QueueFixture, queueFixtures } from './queue-fixtures.ts'

type Data = { readonly name: string }
const done: JobResult = { do: 'done' }
const hourMs = 3_600_000

/** A handler that records names; `ran(n)` resolves with them once that many jobs have begun. */
function recordJobs(
  resultOf: (name: string, time: number) => JobResult | Promise<JobResult> = () => done,
) {
  const names: string[] = []
  const waiting: {
    readonly count: number
    readonly resolve: (names: readonly string[]) => void
  }[] = []
  const work: JobHandler<Data> = async ({ data: { name } }) => {
    names.push(name)
    for (const { count, resolve } of waiting) if (names.length >= count) resolve([...names])
    return resultOf(name, names.filter((other) => other === name).length)
  }
  const ran = (count: number): Promise<readonly string[]> =>
    new Promise((resolve) =>
      names.length >= count ? resolve([...names]) : waiting.push({ count, resolve }),
    )
  return { work, ran, names }
}

for (const { kind, make } of queueFixtures) {
  describe(`jobs in the queue: ${kind}`, () => {
    let fixture: QueueFixture
    let backend: Backend
    beforeAll(async () => {
      fixture = await make()
      backend = await fixture.open()
    })
    afterAll(async () => {
      await backend.close()
      await fixture.drop()
    })
    const fresh = () => {
      const name = randomUUID()
      const queue = backend.queue<Data>(name)
      const add = (job: string, opts: NewJob<Data>['opts'] = {}) =>
        queue.addBulk([{ name: 'job', data: { name: job }, opts }])
      return { name, queue, add, start: (work: JobHandler<Data>) => backend.worker(name, work) }
    }
    const setSchedule = (queue: JobQueue<Data>, recurrence: Recurrence, name = 'shop') =>
      backend.ensureSchedules(queue, [{ id: 'shop', recurrence, job: 'sync', data: { name } }])
    const nextOf = async (queue: JobQueue<Data>) => {
      const [schedule, ...others] = await queue.getJobSchedulers(0, -1)
      expect([schedule?.key, others]).toEqual(['shop', []])
      return schedule!.next!
    }

    test('a schedule keeps its offset within the period when it is set again', async () => {
      const { queue } = fresh()
      const recurrence = { every: hourMs, offset: hourMs / 4 }
      await setSchedule(queue, recurrence)
      const first = await nextOf(queue)
      expect(first % hourMs).toBe(hourMs / 4)
      expect(first).toBeGreaterThan(Date.now())
      await Promise.all([1, 2, 3].map(() => setSchedule(queue, recurrence)))
      expect(await nextOf(queue)).toBe(first)
      expect(await queue.getJobSchedulersCount()).toBe(1)
    })

    test('a cron schedule follows its time zone', async () => {
      const { queue } = fresh()
      await setSchedule(queue, { pattern: '30 3 * * *', tz: 'Asia/Kathmandu' })
      const next = await nextOf(queue)
      expect(DateTime.fromMillis(next, { zone: 'Asia/Kathmandu' }).toFormat('HH:mm:ss')).toBe(
        '03:30:00',
      )
      expect(next - Date.now()).toBeLessThanOrEqual(24 * hourMs)
    })

    test('a changed schedule takes effect at once, and a removed one is gone', async () => {
      const { queue, start } = fresh()
      await setSchedule(queue, { pattern: '0 0 3 1 1 *', tz: 'UTC' })
      await setSchedule(queue, { every: 24 * hourMs, offset: 7 })
      expect((await nextOf(queue)) % (24 * hourMs)).toBe(7)
      await setSchedule(queue, { every: 24 * hourMs, offset: 9 })
      expect((await nextOf(queue)) % (24 * hourMs)).toBe(9)
      const { work, ran } = recordJobs()
      start(work)
      await setSchedule(queue, { every: 30, offset: 1 }, 'frequent')
      expect(await ran(2)).toEqual(['frequent', 'frequent'])
      expect(await queue.removeJobScheduler('shop')).toBe(true)
      expect(await queue.getJobSchedulersCount()).toBe(0)
    })

    test('a schedule continues whatever the results of its runs', async () => {
      const { queue, start } = fresh()
      const results: readonly JobResult[] = [
        { do: 'give up', why: 'denied' },
        { do: 'retry', why: 'failed' },
        { do: 'delay', afterMs: 0 },
      ]
      const { work, ran } = recordJobs((_, time) => results[time - 1] ?? done)
      await setSchedule(queue, { every: 40, offset: 1 })
      start(work)
      await ran(7)
      await queue.removeJobScheduler('shop')
    })

    test('an id belongs to one job: while it waits, runs, and is delayed', async () => {
      const { add, start } = fresh()
      const addAgain = () => add('again', { deduplication: { id: 'shop' } })
      await add('first', { deduplication: { id: 'shop' } })
      await addAgain()
      // One job runs at a time, so each of these adds while the id is taken, however slow the store
      // is.
      const { work, ran } = recordJobs(async (name, time) => {
        if (name !== 'last' && name !== 'again') await addAgain()
        if (name === 'first') await add(time === 1 ? 'while it is delayed' : 'last')
        return name === 'first' && time === 1 ? { do: 'delay', afterMs: 50 } : done
      })
      start(work)
      expect(await ran(4)).toEqual(['first', 'while it is delayed', 'first', 'last'])
      await addAgain()
      expect((await ran(5)).at(-1)).toBe('again')
    })

    test('what is added while its job runs follows it, if that is wanted: once, the last one', async () => {
      const { add, start } = fresh()
      const again = (name: string) =>
        add(name, { deduplication: { id: 'shop', keepLastIfActive: true } })
      const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const { work, ran } = recordJobs(async (name) => {
        if (name === 'first') begun.resolve()
        if (name === 'first') await release.promise
        return done
      })
      await again('first')
      await again('while it waits')
      start(work)
      await begun.promise
      await again('second')
      await again('third')
      release.resolve()
      expect(await ran(2)).toEqual(['first', 'third'])
      await add('last')
      expect((await ran(3)).at(-1)).toBe('last')
    })

    test('a delayed job waits for others with its id, and so does what is added while it runs', async () => {
      const { add, start } = fresh()
      const delayMs = 150
      const addDelayed = (name: string) =>
        add(name, { delay: delayMs, deduplication: { id: 'shop', keepLastIfActive: true } })
      const addedAt: number[] = []
      const begunAt: number[] = []
      const { work, ran, names } = recordJobs(async (name) => {
        begunAt.push(Date.now())
        if (name === 'first') {
          addedAt.push(Date.now())
          await addDelayed('while it runs')
        }
        return done
      })
      start(work)
      addedAt.push(Date.now())
      await addDelayed('first')
      await addDelayed('while it is delayed')
      expect(await ran(2)).toEqual(['first', 'while it runs'])
      // The clock of a timer may be a millisecond ahead.
      for (const [n, at] of begunAt.entries())
        expect(at - addedAt[n]!).toBeGreaterThanOrEqual(delayMs - 2)
      await addDelayed('last')
      expect(await ran(3)).toEqual([...names.slice(0, 2), 'last'])
    })

    test('an id is taken while its job is retried, and free once that has failed', async () => {
      const { add, start } = fresh()
      const options = {
        deduplication: { id: 'shop' },
        attempts: 2,
        backoff: { type: 'exponential', delay: 50 },
      } as const
      await add('first', options)
      const { work, ran, names } = recordJobs(async (name) => {
        if (name !== 'first') return done
        await add('second', options)
        return { do: 'retry', why: 'failed' }
      })
      start(work)
      expect(await ran(2)).toEqual(['first', 'first'])
      await expect
        .poll(() => add('third', options).then(() => names.slice(0, 3)))
        .toEqual(['first', 'first', 'third'])
    })

    test('jobs run in the order of arrival, and one that continues does so behind the others', async () => {
      const { add, start } = fresh()
      for (const name of ['long', 'b', 'c', 'd']) await add(name)
      const { work, ran } = recordJobs((job, time) =>
        job === 'long' && time < 4 ? { do: 'delay', afterMs: time === 1 ? 0 : 0.5 } : done,
      )
      start(work)
      expect((await ran(7)).slice(0, 5)).toEqual(['long', 'b', 'c', 'd', 'long'])
    })

    test('only a failed run counts as an attempt, and a job that gives up is not retried', async () => {
      const { add, start } = fresh()
      const results: readonly JobResult[] = [
        { do: 'delay', afterMs: 0 },
        { do: 'retry', why: 'failed' },
        { do: 'delay', afterMs: 1.5 },
        { do: 'retry', why: 'failed again' },
      ]
      const { work, ran } = recordJobs((name, time) => {
        if (name === 'hopeless') return { do: 'give up', why: 'denied' }
        return name === 'failing' ? (results[time - 1] ?? done) : done
      })
      start(work)
      await add('failing', { attempts: 2 })
      await ran(4)
      await add('hopeless', { attempts: 5 })
      await ran(5)
      await add('last')
      expect((await ran(6)).slice(4)).toEqual(['hopeless', 'last'])
    })

    test('as many jobs run at once as allowed', async () => {
      const { name, add } = fresh()
      const release = Promise.withResolvers<void>()
      const { work, ran, names } = recordJobs(() => release.promise.then(() => done))
      for (const job of ['a', 'b', 'c', 'd']) await add(job)
      backend.worker(name, work, { concurrency: 3 })
      await ran(3)
      expect(names).toHaveLength(3)
      release.resolve()
      expect((await ran(4)).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    })

    test('closing finishes active jobs and starts no others', async () => {
      const own = await make()
      const closing = await own.open()
      const queue = closing.queue<Data>('q')
      await queue.addBulk(['a', 'b', 'c'].map((name) => ({ name: 'job', data: { name } })))
      const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const ended: string[] = []
      closing.worker<Data>('q', async ({ data }) => {
        begun.resolve()
        await release.promise
        ended.push(data.name)
        return done
      })
      await begun.promise
      setTimeout(release.resolve, 50)
      await closing.close()
      expect(ended).toEqual(['a'])
      await own.drop()
    })
  })
}
