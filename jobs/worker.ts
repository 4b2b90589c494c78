/** The worker: schedules, jobs and HTTP over one warehouse and one queue, until somebody stops it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createJobFailures } from '../src/compose/worker/failures.ts'
import { openWorkplace } from '../src/compose/worker/workplace.ts'
import type { Config } from '../src/config.ts'
import type { FailingJob } from '../src/core/job-failure.ts'
import type { Ms } from '../src/core/time.ts'
import { withFailing } from '../src/core/vitals.ts'
import { createMetrics, type Metrics } from '../src/http/metrics.ts'
import { type Http, openHttp } from '../src/http/server.ts'
import { type Receiver, webhooksOf } from '../src/http/webhooks.ts'
import type { Logger } from '../src/log.ts'
import { exposureOf } from '../src/settings/exposure.ts'
import { announcerOf, openQueues, type Queues } from './announcer.ts'
import { type Backend, openBackend, type RunningJob } from './backends/backend.ts'
import type { JobQueue } from './backends/schedule.ts'
import { boardOf } from './board.ts'
import { type Caretaker, startCaretaker } from './caretaker.ts'
import { caught } from './caught.ts'
import { workTick } from './clock.ts'
import type { JobDeps } from './deps.ts'
import { queueFolder } from './folder.ts'
import { workHint } from './hints.ts'
import { keeperOf } from './keeper.ts'
import { workLaneJob } from './lanes.ts'
import { workPass } from './passes.ts'
import { hintQueue, laneQueue, readPass } from './queues.ts'
import { type Parts, readiness } from './readiness.ts'
import { receiverOf, unheard } from './receiver.ts'
import { restartsFor } from './restarts.ts'
import { type Announced, overdue } from './rounds.ts'
import type { Verdict } from './verdict.ts'
import { startWatch } from './watch.ts'

export type WorkerOptions = {
  readonly log: Logger
  /** The queue's store has failed for good: the process should end, and be started again. */
  readonly onFatal: (error: Error) => void
  /** How long a pass works before others have their turn. */
  readonly portionMs?: Ms
  readonly caretakeEveryMs?: Ms
  /** After so long without a sign of life a job counts as left behind by a dead process. */
  readonly lockMs?: Ms
  /** Key prefix in the queue's store. */
  readonly prefix?: string
}

export type RunningWorker = {
  readonly queue: Backend['kind']
  /** Where it answers HTTP; null = nowhere. */
  readonly address: string | null
  /** Takes over projects, keys and schedules. Gives back the settings that need a restart. */
  readonly reload: (config: Config) => readonly string[]
  /** Finishes the pages in hand and closes everything; takes ten seconds at most. */
  readonly stop: () => Promise<void>
}

/** Throws UserError: a warehouse, queue or address that cannot be used. */
export async function startWorker(config: Config, options: WorkerOptions): Promise<RunningWorker> {
  const { log, portionMs = 20_000, caretakeEveryMs = 30_000, lockMs = 30_000 } = options
  let projects = config.projects
  const project = (name: string) => projects.find((it) => it.name === name)
  const stopping = new AbortController()
  // The warehouse first: it is closed last, when nobody uses it any more. The others need not wait for each other.
  const opened: (() => Promise<unknown>)[] = []
  const closeAll = async () => {
    stopping.abort()
    const close = (it: () => Promise<unknown>) => it().catch((error) => log.warn(trouble('close.failed', error)))
    await Promise.all(opened.slice(1).map(close))
    await Promise.all(opened.slice(0, 1).map(close))
  }

  try {
    const metrics: Metrics = createMetrics({
      vitals: async () => withFailing(await workplace.vitals(projects), failures.all()),
      failing: () => failures.all(),
      ready: () => readiness(parts()),
      log,
    })
    const workplace = await openWorkplace(config, {
      log,
      onOutcome: (name, lane, outcome) => metrics.requested({ project: name, lane, outcome }),
      onSettled: (name, status) => metrics.settled({ project: name, status }),
      onLoaded: (name, stream, rows, changed) => metrics.loaded({ project: name, stream, rows, changed }),
    })
    opened.push(workplace.close)
    const failures = createJobFailures({
      notes: workplace.failureLog,
      projects: () => projects,
      log,
      onFailure: metrics.jobFailed,
    })

    const { prefix, onFatal } = options
    const folder = queueFolder(config.databaseUrl)
    const named = prefix === undefined ? {} : { prefix }
    const backend = await openBackend(config.queueUrl, { folder, log, onFatal, onError: metrics.queueFailed, ...named })
    opened.push(backend.close)
    const queues = openQueues(backend)
    const { announce, announceHints, announceLanes } = announcerOf(queues)

    const parts = (): Parts => ({ workplace, backend, failures, stopping })
    const hearing = { failures, isQueueAway: backend.isAway }
    const keep = keeperOf(backend, queues.clock)
    const caretaker = startCaretaker({
      everyMs: caretakeEveryMs,
      beat: async () => {
        await workplace.beat(backend.kind)
        await failures.refresh()
        await announce(worthRetrying(failures.all()))
      },
      lead: () => workplace.lead('caretaker'),
      keepSchedules: () => keep(projects, Date.now()),
      sweep: async () => {
        await announce(overdue(projects, await workplace.lastEnds(), await workplace.allDue(), Date.now()))
        await announceHints(unheard(projects, await workplace.dueDeliveries()))
      },
      ...hearing,
    })
    opened.push(caretaker.stop)
    const watch = startWatch(watchEveryMs, async () => announceLanes(await workplace.lanes.ready(projects)), hearing)
    opened.push(watch.stop)

    const http = await openDoor(config, {
      caretaker,
      caretakeEveryMs,
      parts,
      queues,
      metrics,
      receiver: receiverOf({ projects: () => projects, workplace, announceHints, metrics, log }),
      log,
    })
    if (http !== null) opened.push(http.close)

    const deps: JobDeps = {
      workplace,
      project,
      announce,
      metrics,
      ...hearing,
      log,
      portionMs,
      lookedAt: new WeakSet(),
      stopping: stopping.signal,
      random: Math.random,
    }
    startWork(backend, deps, config.concurrency, lockMs)

    return {
      queue: backend.kind,
      address: http?.address ?? null,
      reload: (next) => {
        projects = next.projects
        caretaker.hurry()
        return restartsFor(config, next)
      },
      stop: async () => {
        const inTime = await Promise.race([closeAll().then(() => true), sleep(patienceMs, false, { ref: false })])
        if (!inTime) log.error({ event: 'worker.hung', why: `not everything closed within ${patienceMs} ms` })
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** `concurrency`: of passes and of lanes. The rest takes moments, or waits behind them. */
function startWork(backend: Backend, deps: JobDeps, concurrency: number, lockMs: Ms): void {
  const take = (share: number) => ({ lockDuration: lockMs, stalledInterval: lockMs / 2, concurrency: Math.ceil(share) })
  const start = (
    queue: Parameters<typeof caught>[0],
    work: (job: RunningJob<unknown>) => Promise<Verdict>,
    share: number,
  ) => backend.worker<unknown>(queue, caught(queue, work, deps), take(share))
  start('clock', (job) => workTick(job, deps), 4)
  start(hintQueue, (job) => workHint(job, deps), concurrency / 4)
  start(laneQueue, (job) => workLaneJob(job, deps), concurrency)
  start('passes', (job) => workPass('passes', job, deps), concurrency)
  start('backfill', (job) => workPass('backfill', job, deps), concurrency / 2)
}

/** Passes that the warehouse has failed: it may be back, and their schedule may be a night away. */
function worthRetrying(failing: readonly FailingJob[]): Announced[] {
  return failing.flatMap(({ about, failure, byWarehouse }): Announced[] => {
    const [, mode] = failure.subject.split('/')
    const pass = byWarehouse ? readPass({ project: about.project?.name, stream: about.stream, mode }) : null
    return pass === null ? [] : [{ queue: 'passes', pass }]
  })
}

/** How soon a write-back is seen. */
const watchEveryMs: Ms = 2000

/** Less than the ten seconds that supervisors usually wait. */
const patienceMs: Ms = 9000

type Door = {
  readonly caretaker: Caretaker
  readonly caretakeEveryMs: Ms
  readonly parts: () => Parts
  readonly queues: Queues
  readonly metrics: Metrics
  readonly receiver: Receiver
  readonly log: Logger
}

async function openDoor(config: Config, door: Door): Promise<Http | null> {
  const exposure = exposureOf(config)
  if (exposure === null) return null
  const { caretaker, caretakeEveryMs, queues, metrics, receiver, log } = door
  const alive = () => caretaker.silentMs() < 4 * caretakeEveryMs + 60_000
  const { clock, passes, backfill, hints, writebacks } = queues
  const board = boardOf([clock, passes, backfill, hints, writebacks] as unknown as JobQueue<never>[])
  const plugins = [board, webhooksOf(receiver)]
  return openHttp({ ...exposure, health: { alive, ready: () => readiness(door.parts()) }, metrics, plugins, log })
}

function trouble(event: string, error: unknown) {
  return { event, why: error instanceof Error ? error.message : String(error) }
}
