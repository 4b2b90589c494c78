/**
 * Simulates many projects on some workers, on a virtual clock: schedules fire and enqueue sync
 * jobs, workers run them in rotation, keys limit requests, and each thread and the queue server do
 * one thing at a time. Schedules, planned jobs and follow-up jobs come from the program itself; the
 * rest imitates jobs/ in short.
 */
import type { Recurrence } from '../../jobs/backends/backend.ts'
import type { PlannedSyncJob, SchedulerJob, SyncJob } from '../../jobs/queues.ts'
import { schedulesForProjects, syncJobsOfSchedule, toSyncJobs } from '../../jobs/schedule-plan.ts'
import {
  childStreamsOf,
  isChildStream,
  isListStream,
  type StreamName,
  streamNames,
} from '../../schema/stream-specs.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import type { EpochMs, Ms } from '../../src/values/time.ts'
import type { Costs, PerStream } from './costs.ts'
import { createDistribution, type Distribution } from './distribution.ts'
import { createEventQueue } from './event-queue.ts'
import { nextFiring } from './firings.ts'
import { createKeyLimit, type KeyLimit } from './key-limit.ts'
import type { Load } from './load.ts'
import {
  createWorkerPool,
  type SimulatedQueue,
  type SimulatedWorker,
  type WorkerPool,
} from './worker-pool.ts'

export type Simulation = {
  readonly projects: readonly ProjectConfig[]
  readonly load: Load
  readonly costs: Costs
  readonly workers: number
  /** Sync jobs that a worker runs concurrently; half as many backfill jobs in addition. */
  readonly concurrency: number
  readonly sliceMs: Ms
  readonly startsAt: EpochMs
  /** How long schedules fire, from the start. */
  readonly forMs: Ms
  /** Whether to finish the remaining work afterwards. Figures cover the time before either way. */
  readonly drain: boolean
  /** Time before figures are taken. */
  readonly warmUpMs: Ms
  readonly random: () => number
}

export type FleetResult = {
  readonly enqueued: number
  /** Not added, because the same job waits or runs already. */
  readonly duplicates: number
  readonly ended: number
  readonly requests: number
  /** Within the measured time. */
  readonly jobs: number
  readonly requestsInWindow: number
  /** Started within the measured time. */
  readonly passes: PerStream<number>
  readonly ticks: number
  /** The most jobs that waited at the same time. */
  readonly mostWaiting: number
  readonly cpuMs: readonly Ms[]
  readonly queueMs: Ms
  /** From the firing of an incremental schedule to the end of each of its lists. */
  readonly lag: Distribution
  /** For each project: the longest time between two completions of its conversations. */
  readonly age: Distribution
  /** How long a job waits before it starts. */
  readonly wait: Readonly<Record<SimulatedQueue, Distribution>>
}

type SimulatedJob = {
  readonly queue: SimulatedQueue
  readonly id: string
  readonly project: SimulatedProject
  readonly work: SchedulerJob | SyncJob
  readonly dueAt: EpochMs
  readyAt: EpochMs
  /** Remaining requests of a reconcile's list. */
  left: number
  /** The recurrence of its schedule; null: a sync run enqueued it. */
  readonly recurrence: Recurrence | null
}

type SimulatedProject = {
  readonly config: ProjectConfig
  readonly key: KeyLimit
  readonly left: Map<StreamName, number>
  readonly runningStreams: Set<StreamName>
  endedAt: EpochMs | null
  oldestMs: Ms
}

const childrenAtOnce = 16

export function simulate(simulation: Simulation): FleetResult {
  const { load, costs, startsAt, random } = simulation
  const events = createEventQueue(startsAt)
  const from = startsAt + simulation.warmUpMs
  const until = startsAt + simulation.forMs
  const counts = () => events.now() >= from && events.now() < until
  const projects = new Map(
    simulation.projects.map((config) => [config.name, createSimulatedProject(config, load)]),
  )
  const queuedIds = new Set<string>()
  const wait = {
    schedules: createDistribution(),
    sync: createDistribution(),
    backfill: createDistribution(),
  }
  const lag = createDistribution()
  const total = {
    enqueued: 0,
    duplicates: 0,
    ended: 0,
    requests: 0,
    jobs: 0,
    requestsInWindow: 0,
    ticks: 0,
    mostWaiting: 0,
  }
  const passes = Object.fromEntries(streamNames.map((stream) => [stream, 0])) as Record<
    StreamName,
    number
  >
  const pool: WorkerPool<SimulatedJob> = createWorkerPool(simulation.workers, {
    schedules: 4,
    sync: simulation.concurrency,
    backfill: Math.ceil(simulation.concurrency / 2),
  })
  let serverFreeAt = startsAt
  let queueMs = 0

  /** The queue server does one thing at a time. */
  const serve = (ms: Ms): EpochMs => {
    serverFreeAt = Math.max(serverFreeAt, events.now()) + ms
    if (counts()) queueMs += ms
    return serverFreeAt
  }

  const startJobs = (queue: SimulatedJob['queue']) => {
    for (let next = pool.next(queue); next !== null; next = pool.next(queue)) {
      const { job, worker } = next
      events.schedule(serve(costs.queueMs), () => {
        if (counts()) wait[queue].add(events.now() - job.readyAt)
        if (queue === 'schedules') runSchedulerJob(job, worker)
        else startSyncJob(job, worker)
      })
    }
  }

  /** A worker's thread does one thing at a time. */
  const useThread = (worker: SimulatedWorker, ms: Ms, then: () => void) => {
    worker.freeAt = Math.max(worker.freeAt, events.now()) + ms
    if (counts()) worker.cpuMs += ms
    events.schedule(worker.freeAt, then)
  }

  const enqueue = (job: SimulatedJob) => {
    job.readyAt = events.now()
    pool.add(job.queue, job)
    total.mostWaiting = Math.max(total.mostWaiting, pool.waiting())
    startJobs(job.queue)
  }

  const release = (job: SimulatedJob, worker: SimulatedWorker) => {
    pool.release(job.queue, worker)
    startJobs(job.queue)
  }

  const end = (job: SimulatedJob, worker: SimulatedWorker) => {
    queuedIds.delete(job.id)
    total.ended += 1
    if (counts()) total.jobs += 1
    release(job, worker)
  }

  const retryLater = (job: SimulatedJob, worker: SimulatedWorker, afterMs: Ms) => {
    events.schedule(events.now() + afterMs, () => enqueue(job))
    release(job, worker)
  }

  const enqueueAll = (all: readonly PlannedSyncJob[], dueAt: EpochMs) => {
    for (const { queue, job: work } of all) {
      if (queue === 'audits') continue
      const project = projects.get(work.project)
      const id = `${queue}/${work.project}/${work.stream}/${work.mode}`
      if (project === undefined) continue
      total.enqueued += 1
      if (queuedIds.has(id)) {
        total.duplicates += 1
        continue
      }
      queuedIds.add(id)
      const left = work.mode === 'reconcile' ? load.reconcile[work.stream] : 0
      enqueue({ queue, id, project, work, dueAt, readyAt: 0, left, recurrence: null })
    }
  }

  /** The queue holds one run of a schedule at a time. */
  const scheduleNext = (job: SimulatedJob) => {
    const dueAt = job.recurrence === null ? until : nextFiring(job.recurrence, events.now())
    if (dueAt >= until) return
    events.schedule(dueAt, () => {
      total.enqueued += 1
      enqueue({ ...job, dueAt })
    })
  }

  const runSchedulerJob = (job: SimulatedJob, worker: SimulatedWorker) => {
    scheduleNext(job)
    if (counts()) total.ticks += 1
    useThread(worker, costs.tickCpuMs, () => {
      const { schedule } = job.work as SchedulerJob
      if (schedule !== 'housekeeping' && schedule !== 'webhook')
        enqueueAll(syncJobsOfSchedule(schedule, job.project.config), job.dueAt)
      end(job, worker)
    })
  }

  const startSyncJob = (job: SimulatedJob, worker: SimulatedWorker) => {
    const { stream, mode } = job.work as SyncJob
    const { project } = job
    if (project.runningStreams.has(stream)) {
      useThread(worker, costs.busyCpuMs, () => retryLater(job, worker, 2000 + random() * 3000))
      return
    }
    project.runningStreams.add(stream)
    if (counts()) passes[stream] += 1
    const endsAt = events.now() + simulation.sliceMs
    if (mode === 'reconcile' && isChildStream(stream)) {
      project.left.set(stream, (project.left.get(stream) ?? 0) + job.left)
      job.left = 0
    }
    useThread(worker, costs.passCpuMs[stream], () =>
      events.schedule(events.now() + costs.passMs, () =>
        request(job, worker, load.idle[stream], endsAt),
      ),
    )
  }

  /** `more`: requests of the sync run beyond the remaining ones. */
  const request = (job: SimulatedJob, worker: SimulatedWorker, more: number, endsAt: EpochMs) => {
    const { stream } = job.work as SyncJob
    const count = Math.min(
      isChildStream(stream) ? childrenAtOnce : 1,
      more + job.left + requestsLeft(job),
    )
    if (count === 0 || events.now() >= endsAt) {
      finish(job, worker, count > 0)
      return
    }
    const grantedAt = Math.max(
      job.project.key.take(events.now(), count),
      serve(count * costs.budgetMs),
    )
    const answeredAt = grantedAt + costs.requestMs
    events.schedule(answeredAt, () =>
      useThread(worker, count * costs.requestCpuMs, () => {
        total.requests += count
        if (counts()) total.requestsInWindow += count
        request(job, worker, takeRequest(job, count, more), endsAt)
      }),
    )
  }

  /** Returns what is left of `more`. */
  const takeRequest = (job: SimulatedJob, count: number, more: number): number => {
    if (more > 0) return Math.max(0, more - count)
    const { stream } = job.work as SyncJob
    if (job.left > 0) {
      job.left = Math.max(0, job.left - count)
      return 0
    }
    const { left } = job.project
    left.set(stream, Math.max(0, requestsLeft(job) - count))
    for (const child of childStreamsOf(stream))
      left.set(child, (left.get(child) ?? 0) + count * load.childrenPerPage)
    return 0
  }

  const finish = (job: SimulatedJob, worker: SimulatedWorker, isMore: boolean) => {
    const { stream, mode } = job.work as SyncJob
    const { project } = job
    project.runningStreams.delete(stream)
    const pending = childStreamsOf(stream).filter((child) => (project.left.get(child) ?? 0) > 0)
    if (isMore && job.queue === 'backfill' && !(mode === 'reconcile' && isChildStream(stream))) {
      retryLater(job, worker, 1)
      return
    }
    if (isMore) {
      const remaining = {
        ...(job.work as SyncJob),
        mode: isChildStream(stream) ? ('incremental' as const) : mode,
      }
      enqueueAll([{ queue: 'backfill', job: remaining }], job.dueAt)
    } else {
      recordEnd(job)
    }
    if (isListStream(stream)) enqueueAll(toSyncJobs('sync', project.config, pending), job.dueAt)
    end(job, worker)
  }

  const recordEnd = ({ project, work, dueAt, queue }: SimulatedJob) => {
    const { stream } = work as SyncJob
    const now = events.now()
    if (queue === 'sync' && isListStream(stream) && counts()) lag.add(now - dueAt)
    if (stream !== 'conversations') return
    if (project.endedAt !== null && counts())
      project.oldestMs = Math.max(project.oldestMs, now - project.endedAt)
    project.endedAt = now
  }

  for (const { recurrence, id, data } of schedulesForProjects(simulation.projects)) {
    const project = data.schedule === 'housekeeping' ? undefined : projects.get(data.project)
    if (project === undefined) continue
    scheduleNext({
      queue: 'schedules',
      id,
      project,
      work: data,
      dueAt: startsAt,
      readyAt: 0,
      left: 0,
      recurrence,
    })
  }
  events.run(simulation.drain ? Number.POSITIVE_INFINITY : until)

  const age = createDistribution()
  for (const { endedAt, oldestMs } of projects.values()) {
    age.add(endedAt === null ? simulation.forMs : Math.max(oldestMs, until - endedAt))
  }
  return {
    ...total,
    passes,
    cpuMs: pool.workers.map(({ cpuMs }) => cpuMs),
    queueMs,
    lag,
    age,
    wait,
  }
}

function createSimulatedProject(config: ProjectConfig, load: Load): SimulatedProject {
  const left = new Map(
    Object.entries(load.backlog).filter(([, count]) => count > 0) as [StreamName, number][],
  )
  return {
    config,
    key: createKeyLimit(config.rate),
    left,
    runningStreams: new Set(),
    endedAt: null,
    oldestMs: 0,
  }
}

/** A reconcile reads its own list; other jobs read what remains of the stream. */
function requestsLeft({ project, work }: SimulatedJob): number {
  const { stream, mode } = work as SyncJob
  return mode === 'reconcile' && !isChildStream(stream) ? 0 : (project.left.get(stream) ?? 0)
}
