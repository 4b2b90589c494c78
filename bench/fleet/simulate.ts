/**
 * Many projects on some workers, by the clock of the simulation: schedules fire, rounds announce passes, workers take
 * them in turns, keys let requests through, threads and the queue's server do one thing at a time. The schedules, the
 * passes of a round and what a pass announces are the program's own; the rest is what jobs/ does, told shortly.
 */

import type { Rhythm } from '../../jobs/backends/schedule.ts'
import type { Pass, PassQueue, Tick } from '../../jobs/queues.ts'
import { type Announced, announced, announcedBy, lists } from '../../jobs/rounds.ts'
import { schedulesOf } from '../../jobs/schedules.ts'
import type { ProjectConfig } from '../../src/config.ts'
import { type StreamName, streamNames } from '../../src/core/row.ts'
import type { EpochMs, Ms } from '../../src/core/time.ts'
import { createAgenda } from './agenda.ts'
import type { Costs, OfStream } from './costs.ts'
import { type Crew, createCrew, type Worker } from './crew.ts'
import { type Distribution, distribution } from './figures.ts'
import { nextFiring } from './firings.ts'
import { createKey, type Key } from './key.ts'
import { childOf, isChild, type Load } from './load.ts'

export type Case = {
  readonly projects: readonly ProjectConfig[]
  readonly load: Load
  readonly costs: Costs
  readonly workers: number
  /** Passes that a worker runs side by side; half as many of the backlog besides. */
  readonly concurrency: number
  readonly portionMs: Ms
  readonly startsAt: EpochMs
  /** Schedules fire from the start for so long. */
  readonly forMs: Ms
  /** Whether what is left then is worked off, or left. Figures are of the time before either way. */
  readonly toTheEnd: boolean
  /** Begun before figures are taken. */
  readonly warmUpMs: Ms
  readonly random: () => number
}

export type Outcome = {
  readonly announced: number
  /** Taken for ones that wait or work already. */
  readonly doubles: number
  readonly ended: number
  readonly requests: number
  /** In the time that counts. */
  readonly jobs: number
  readonly requestsThen: number
  /** Begun in the time that counts. */
  readonly passes: OfStream<number>
  readonly ticks: number
  /** Jobs that waited at once, at the most. */
  readonly mostWaiting: number
  readonly cpuMs: readonly Ms[]
  readonly queueMs: Ms
  /** From the moment that a round of news was due to the end of each of its lists. */
  readonly lag: Distribution
  /** Of each project: the longest from one end of its conversations to the next. */
  readonly age: Distribution
  /** Of a job, before it begins. */
  readonly wait: Readonly<Record<'clock' | PassQueue, Distribution>>
}

type Job = {
  readonly queue: 'clock' | PassQueue
  readonly id: string
  readonly project: Project
  readonly work: Tick | Pass
  readonly dueAt: EpochMs
  readyAt: EpochMs
  /** Requests left of a reconcile's list. */
  left: number
  /** Of the schedule that it came from; null: a pass announced it. */
  readonly rhythm: Rhythm | null
}

type Project = {
  readonly config: ProjectConfig
  readonly key: Key
  readonly left: Map<StreamName, number>
  readonly held: Set<StreamName>
  endedAt: EpochMs | null
  oldestMs: Ms
}

const childrenAtOnce = 16

export function simulate(it: Case): Outcome {
  const { load, costs, startsAt, random } = it
  const agenda = createAgenda(startsAt)
  const from = startsAt + it.warmUpMs
  const until = startsAt + it.forMs
  const counts = () => agenda.now() >= from && agenda.now() < until
  const projects = new Map(it.projects.map((config) => [config.name, projectOf(config, load)]))
  const known = new Set<string>()
  const wait = { clock: distribution(), passes: distribution(), backfill: distribution() }
  const lag = distribution()
  const total = { announced: 0, doubles: 0, ended: 0, requests: 0, jobs: 0, requestsThen: 0, ticks: 0, mostWaiting: 0 }
  const passes = Object.fromEntries(streamNames.map((stream) => [stream, 0])) as Record<StreamName, number>
  const crew: Crew<Job> = createCrew(it.workers, {
    clock: 4,
    passes: it.concurrency,
    backfill: Math.ceil(it.concurrency / 2),
  })
  let serverFreeAt = startsAt
  let queueMs = 0

  /** The queue's server does one thing at a time. */
  const serve = (ms: Ms): EpochMs => {
    serverFreeAt = Math.max(serverFreeAt, agenda.now()) + ms
    if (counts()) queueMs += ms
    return serverFreeAt
  }

  const handOut = (queue: Job['queue']) => {
    for (let next = crew.next(queue); next !== null; next = crew.next(queue)) {
      const { job, worker } = next
      agenda.at(serve(costs.queueMs), () => {
        if (counts()) wait[queue].add(agenda.now() - job.readyAt)
        if (queue === 'clock') tick(job, worker)
        else begin(job, worker)
      })
    }
  }

  /** The thread of a worker does one thing at a time. */
  const think = (worker: Worker, ms: Ms, then: () => void) => {
    worker.freeAt = Math.max(worker.freeAt, agenda.now()) + ms
    if (counts()) worker.cpuMs += ms
    agenda.at(worker.freeAt, then)
  }

  const enqueue = (job: Job) => {
    job.readyAt = agenda.now()
    crew.add(job.queue, job)
    total.mostWaiting = Math.max(total.mostWaiting, crew.waiting())
    handOut(job.queue)
  }

  const leave = (job: Job, worker: Worker) => {
    crew.leave(job.queue, worker)
    handOut(job.queue)
  }

  const end = (job: Job, worker: Worker) => {
    known.delete(job.id)
    total.ended += 1
    if (counts()) total.jobs += 1
    leave(job, worker)
  }

  const again = (job: Job, worker: Worker, afterMs: Ms) => {
    agenda.at(agenda.now() + afterMs, () => enqueue(job))
    leave(job, worker)
  }

  const announce = (all: readonly Announced[], dueAt: EpochMs) => {
    for (const { queue, pass } of all) {
      const project = projects.get(pass.project)
      const id = `${queue}/${pass.project}/${pass.stream}/${pass.mode}`
      if (project === undefined) continue
      total.announced += 1
      if (known.has(id)) {
        total.doubles += 1
        continue
      }
      known.add(id)
      const left = pass.mode === 'reconcile' ? load.reconcile[pass.stream] : 0
      enqueue({ queue, id, project, work: pass, dueAt, readyAt: 0, left, rhythm: null })
    }
  }

  /** The queue knows one run of a schedule at a time. */
  const plan = (job: Job) => {
    const dueAt = job.rhythm === null ? until : nextFiring(job.rhythm, agenda.now())
    if (dueAt >= until) return
    agenda.at(dueAt, () => {
      total.announced += 1
      enqueue({ ...job, dueAt })
    })
  }

  const tick = (job: Job, worker: Worker) => {
    plan(job)
    if (counts()) total.ticks += 1
    think(worker, costs.tickCpuMs, () => {
      const { round } = job.work as Tick
      if (round !== 'housekeeping') announce(announcedBy(round, job.project.config), job.dueAt)
      end(job, worker)
    })
  }

  const begin = (job: Job, worker: Worker) => {
    const { stream, mode } = job.work as Pass
    const { project } = job
    if (project.held.has(stream)) {
      think(worker, costs.busyCpuMs, () => again(job, worker, 2000 + random() * 3000))
      return
    }
    project.held.add(stream)
    if (counts()) passes[stream] += 1
    const endsAt = agenda.now() + it.portionMs
    if (mode === 'reconcile' && isChild(stream)) {
      project.left.set(stream, (project.left.get(stream) ?? 0) + job.left)
      job.left = 0
    }
    think(worker, costs.passCpuMs[stream], () =>
      agenda.at(agenda.now() + costs.passMs, () => request(job, worker, load.idle[stream], endsAt)),
    )
  }

  /** `more`: what the pass asks for beside what is left. */
  const request = (job: Job, worker: Worker, more: number, endsAt: EpochMs) => {
    const { stream } = job.work as Pass
    const count = Math.min(isChild(stream) ? childrenAtOnce : 1, more + job.left + leftOf(job))
    if (count === 0 || agenda.now() >= endsAt) {
      finish(job, worker, count > 0)
      return
    }
    const grantedAt = Math.max(job.project.key.take(agenda.now(), count), serve(count * costs.budgetMs))
    const answeredAt = grantedAt + costs.requestMs
    agenda.at(answeredAt, () =>
      think(worker, count * costs.requestCpuMs, () => {
        total.requests += count
        if (counts()) total.requestsThen += count
        request(job, worker, spend(job, count, more), endsAt)
      }),
    )
  }

  /** What the pass still asks for beside what is left. */
  const spend = (job: Job, count: number, more: number): number => {
    if (more > 0) return Math.max(0, more - count)
    const { stream } = job.work as Pass
    if (job.left > 0) {
      job.left = Math.max(0, job.left - count)
      return 0
    }
    const { left } = job.project
    left.set(stream, Math.max(0, leftOf(job) - count))
    const child = childOf(stream)
    if (child !== null) left.set(child, (left.get(child) ?? 0) + count * load.childrenPerPage)
    return 0
  }

  const finish = (job: Job, worker: Worker, isMore: boolean) => {
    const { stream, mode } = job.work as Pass
    const { project } = job
    project.held.delete(stream)
    const children = childOf(stream)
    const due = children !== null && (project.left.get(children) ?? 0) > 0 ? [children] : []
    if (isMore && job.queue === 'backfill' && !(mode === 'reconcile' && isChild(stream))) {
      again(job, worker, 1)
      return
    }
    if (isMore) {
      const rest = { ...(job.work as Pass), mode: isChild(stream) ? ('incremental' as const) : mode }
      announce([{ queue: 'backfill', pass: rest }], job.dueAt)
    } else {
      note(job)
    }
    if (lists.includes(stream)) announce(announced('passes', project.config, due), job.dueAt)
    end(job, worker)
  }

  const note = ({ project, work, dueAt, queue }: Job) => {
    const { stream } = work as Pass
    const now = agenda.now()
    if (queue === 'passes' && lists.includes(stream) && counts()) lag.add(now - dueAt)
    if (stream !== 'conversations') return
    if (project.endedAt !== null && counts()) project.oldestMs = Math.max(project.oldestMs, now - project.endedAt)
    project.endedAt = now
  }

  for (const { rhythm, id, data } of schedulesOf(it.projects)) {
    const project = data.round === 'housekeeping' ? undefined : projects.get(data.project)
    if (project === undefined) continue
    plan({ queue: 'clock', id, project, work: data, dueAt: startsAt, readyAt: 0, left: 0, rhythm })
  }
  agenda.run(it.toTheEnd ? Number.POSITIVE_INFINITY : until)

  const age = distribution()
  for (const { endedAt, oldestMs } of projects.values()) {
    age.add(endedAt === null ? it.forMs : Math.max(oldestMs, until - endedAt))
  }
  return { ...total, passes, cpuMs: crew.workers.map(({ cpuMs }) => cpuMs), queueMs, lag, age, wait }
}

function projectOf(config: ProjectConfig, load: Load): Project {
  const left = new Map(Object.entries(load.backlog).filter(([, count]) => count > 0) as [StreamName, number][])
  return { config, key: createKey(config.rate), left, held: new Set(), endedAt: null, oldestMs: 0 }
}

/** A reconcile reads its own list; everything else what is left of the stream. */
function leftOf({ project, work }: Job): number {
  const { stream, mode } = work as Pass
  return mode === 'reconcile' && !isChild(stream) ? 0 : (project.left.get(stream) ?? 0)
}
