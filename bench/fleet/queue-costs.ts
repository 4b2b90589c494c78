/**
 * What the queue costs, measured on a private Redis: all projects' schedules, waiting jobs, running
 * jobs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Backend, JobResult, JobSchedule, NewJob } from '../../jobs/backends/backend.ts'
import { openBackend } from '../../jobs/backends/open-backend.ts'
import { createScheduleSync } from '../../jobs/maintenance.ts'
import type { SchedulerJob, SyncJob } from '../../jobs/queues.ts'
import { schedulesForProjects } from '../../jobs/schedule-plan.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/log.ts'
import { type ReadRedisUse, type RedisUse, usedSince } from './redis-use.ts'

/**
 * The cost of one job or schedule. `cpuMs`: of the process that adds and runs it. `serverMs`: CPU
 * of Redis.
 */
export type JobCost = {
  readonly cpuMs: number
  readonly serverMs: number
  readonly commands: number
}

export type QueueCosts = {
  readonly schedules: number
  /** Setting all schedules for the first time, and checking them again. */
  readonly setMs: number
  readonly lookMs: number
  readonly bytesEach: number
  /** Of a waiting job. */
  readonly bytesWaiting: number
  readonly pass: JobCost
  /** Includes scheduling the next run. */
  readonly tick: JobCost
}

const quiet = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })
const syncJobs = 9_000

export async function measureQueue(
  url: string,
  readUse: ReadRedisUse,
  projects: readonly ProjectConfig[],
): Promise<QueueCosts> {
  const within = async <T>(installation: string, work: (backend: Backend) => Promise<T>) => {
    const backend = await openBackend(url, { log: quiet, installation })
    return await work(backend).finally(backend.close)
  }
  const schedules = await within('schedules', (backend) =>
    measureSchedules(backend, readUse, projects),
  )
  const run = await within('run', (backend) => measureSyncQueue(backend, readUse))
  const tick = await within('tick', (backend) => measureSchedulerQueue(backend, readUse))
  return { ...schedules, ...run, tick }
}

async function measureSchedules(
  backend: Backend,
  readUse: ReadRedisUse,
  projects: readonly ProjectConfig[],
) {
  const queue = backend.queue<SchedulerJob>('schedules')
  const before = await readUse()
  const setMs = await timed(() =>
    createScheduleSync(backend, queue)(projects, Date.now(), true, false),
  )
  const { bytes } = usedSince(before, await readUse())
  const lookMs = await timed(() =>
    createScheduleSync(backend, queue)(projects, Date.now(), true, false),
  )
  const schedules = schedulesForProjects(projects).length
  return { schedules, setMs, lookMs, bytesEach: bytes / schedules }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function measureSyncQueue(backend: Backend, readUse: ReadRedisUse) {
  const queue = backend.queue<SyncJob>('sync')
  const before = await readUse()
  const cpu = process.cpuUsage()
  for (let n = 0; n < syncJobs / 3; n++) {
    // As an incremental schedule enqueues them.
    const streams = ['conversations', 'visitors', 'calls'] as const
    await queue.addBulk(
      streams.map((stream) =>
        toQueueEntry({ project: `project-${n}`, stream, mode: 'incremental' }),
      ),
    )
  }
  const added = await readUse()
  await new Promise<void>((resolve) => {
    let left = syncJobs
    const countDown = async (): Promise<JobResult> => {
      left -= 1
      if (left === 0) resolve()
      return { do: 'done' }
    }
    backend.worker<SyncJob>('sync', countDown, { concurrency: 40 })
  })
  const pass = toJobCost(syncJobs, cpu, usedSince(before, await readUse()))
  return { bytesWaiting: usedSince(before, added).bytes / syncJobs, pass }
}

function toQueueEntry(job: SyncJob): NewJob<SyncJob> {
  const deduplication = { id: `${job.project}/${job.stream}/${job.mode}` }
  return {
    name: job.stream,
    data: job,
    opts: { attempts: 3, backoff: { type: 'exponential', delay: 5000 }, deduplication },
  }
}

/** Schedules that fire every second, measured for ten seconds. */
async function measureSchedulerQueue(backend: Backend, readUse: ReadRedisUse): Promise<JobCost> {
  const queue = backend.queue<SchedulerJob>('schedules')
  const data: SchedulerJob = { schedule: 'availability', project: 'project' }
  const schedules = Array.from({ length: 300 }, (_, n): JobSchedule<SchedulerJob> => {
    return {
      id: `availability/${n}`,
      recurrence: { every: 1000, offset: n * 3 },
      job: 'availability',
      data,
    }
  })
  await backend.ensureSchedules(queue, schedules)
  let jobs = 0
  const count = async (): Promise<JobResult> => {
    jobs += 1
    return { do: 'done' }
  }
  backend.worker<SchedulerJob>('schedules', count, { concurrency: 4 })
  await sleep(2000)
  const before = await readUse()
  const cpu = process.cpuUsage()
  const atFirst = jobs
  await sleep(10_000)
  return toJobCost(jobs - atFirst, cpu, usedSince(before, await readUse()))
}

function toJobCost(jobs: number, since: NodeJS.CpuUsage, { cpuMs, commands }: RedisUse): JobCost {
  const { user, system } = process.cpuUsage(since)
  return { cpuMs: (user + system) / 1000 / jobs, serverMs: cpuMs / jobs, commands: commands / jobs }
}
