/** The queue in the process, by a clock of the test's. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Backend, JobResult } from '../../jobs/backends/backend.ts'
import { openInProcess } from '../../jobs/backends/in-process.ts'

const [minuteMs, hourMs] = [60_000, 3_600_000]
const start = Date.parse('2026-03-01T12:10:00Z')
let backend: Backend
let ran: number[]

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: start })
  backend = openInProcess()
  ran = []
})
afterEach(async () => {
  await backend.close()
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

/** `hourly` fires on the hour, and `nightly` at three. */
async function setSchedules(work = async (): Promise<JobResult> => ({ do: 'done' })) {
  const queue = backend.queue('schedules')
  await backend.ensureSchedules(queue, [
    { id: 'hourly', recurrence: { every: hourMs, offset: 0 }, job: 'hourly', data: {} },
    { id: 'nightly', recurrence: { pattern: '0 3 * * *', tz: 'UTC' }, job: 'nightly', data: {} },
  ])
  backend.worker('schedules', async () => {
    ran.push(Date.now())
    return work()
  })
  return queue
}
const hoursOf = () => ran.map((at) => new Date(at).toISOString().slice(11, 16))

test('schedules fire at their times, and not before', async () => {
  await setSchedules()
  await vi.advanceTimersByTimeAsync(16 * hourMs)
  expect(hoursOf().filter((hour) => hour !== '03:00')).toHaveLength(15)
  expect(hoursOf().filter((hour) => hour === '03:00')).toHaveLength(2)
  expect(ran.every((at) => at % hourMs < 100)).toBe(true)
})

test('what was due while the machine slept runs once, seconds after it wakes', async () => {
  await setSchedules()
  await vi.advanceTimersByTimeAsync(minuteMs)
  // Timers do not count the time of a sleep.
  vi.setSystemTime(start + 20 * hourMs)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(hoursOf()).toEqual(['08:10', '08:10'])
  await vi.advanceTimersByTimeAsync(hourMs)
  expect(hoursOf().slice(2)).toEqual(['09:00'])
})

test('a clock that was wrong and is set back delays no schedule', async () => {
  await setSchedules()
  vi.setSystemTime(start - 1000 * hourMs)
  await vi.advanceTimersByTimeAsync(hourMs)
  expect(ran).toHaveLength(1)
})

test('while a run of a schedule is active, at most one other waits', async () => {
  const release = Promise.withResolvers<JobResult>()
  const queue = await setSchedules(() => release.promise)
  await queue.removeJobScheduler('nightly')
  await vi.advanceTimersByTimeAsync(5 * hourMs)
  expect(ran).toHaveLength(1)
  release.resolve({ do: 'done' })
  await vi.advanceTimersByTimeAsync(minuteMs)
  expect(hoursOf()).toEqual(['13:00', '17:10'])
})

test('failed attempts are repeated after longer and longer delays', async () => {
  const queue = backend.queue('sync')
  backend.worker('sync', async () => {
    ran.push(Date.now() - start)
    throw new Error('unexpected')
  })
  await queue.addBulk([
    { name: 'job', data: {}, opts: { attempts: 3, backoff: { type: 'exponential', delay: 5000 } } },
  ])
  await vi.advanceTimersByTimeAsync(hourMs)
  expect(ran).toEqual([0, 5000, 15_000])
})
