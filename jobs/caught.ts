/** Whatever a job throws is caught once: told, counted and noted, and then tried again as its queue would have it. */
import type { JobKind, JobSubject } from '../src/core/job-failure.ts'
import type { Work } from './backends/backend.ts'
import type { JobDeps } from './deps.ts'
import { hintQueue, laneQueue, type QueueName, readHint, readLane, readPass, readTick } from './queues.ts'

type AnyQueue = QueueName | typeof hintQueue | typeof laneQueue

/** `attempts` of the job decide whether there is another one. */
export function caught(
  queue: AnyQueue,
  work: Work<unknown>,
  deps: Pick<JobDeps, 'failures' | 'metrics' | 'project' | 'isQueueAway'>,
) {
  const guarded: Work<unknown> = async (job, signal) => {
    try {
      return await work(job, signal)
    } catch (error) {
      await deps.failures.failed(subjectOf(queue, job.data, deps), error, deps.isQueueAway(error))
      deps.metrics.worked({ queue, verdict: 'retry' })
      return { do: 'retry', why: error instanceof Error ? error.message : String(error) }
    }
  }
  return guarded
}

/** The same for what no queue announces: it comes again by itself. */
export async function caughtHere(
  job: JobKind,
  work: () => Promise<void>,
  { failures, isQueueAway }: Pick<JobDeps, 'failures' | 'isQueueAway'>,
): Promise<void> {
  const about: JobSubject = { job, project: null, subject: '', stream: null }
  try {
    await work()
  } catch (error) {
    await failures.failed(about, error, isQueueAway(error))
    return
  }
  await failures.succeeded(about)
}

type Find = Pick<JobDeps, 'project'>

/** What a job is about, as far as it says. */
function subjectOf(queue: AnyQueue, data: unknown, find: Find): JobSubject {
  switch (queue) {
    case 'passes':
    case 'backfill':
      return passSubject(readPass(data), find)
    case 'clock':
      return tickSubject(readTick(data), find)
    case hintQueue:
      return about('webhooks', find, readHint(data)?.project)
    case laneQueue:
      return about('writebacks', find, readLane(data)?.project, readLane(data)?.lane)
  }
}

export function passSubject(pass: ReturnType<typeof readPass>, find: Find): JobSubject {
  const subject = about('pass', find, pass?.project, pass === null ? '' : `${pass.stream}/${pass.mode}`)
  return { ...subject, stream: pass?.stream ?? null }
}

export function tickSubject(tick: ReturnType<typeof readTick>, find: Find): JobSubject {
  if (tick === null || tick.round === 'housekeeping') return about('housekeeping', find)
  return about('schedule', find, tick.project, tick.round)
}

export function about(job: JobKind, { project: find }: Find, named?: string, subject = ''): JobSubject {
  return { job, project: (named === undefined ? undefined : find(named)) ?? null, subject, stream: null }
}
