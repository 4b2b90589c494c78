/** Restores missing schedules, and enqueues overdue work that it finds in the warehouse. */
import type { Config, ProjectConfig } from '../src/config/config.ts'
import { queueBackends } from '../src/config/queue-backends.ts'
import type { FailingJob } from '../src/maintenance/maintenance.ts'
import { readRuns } from '../src/maintenance/sql/project-states.ts'
import { recordRetentionMs } from '../src/maintenance/sql/retention.ts'
import { countAllPending } from '../src/mirror/sql/pending-children.ts'
import type { EpochMs } from '../src/values/time.ts'
import { readLastCompletions } from '../src/worker/project-health.ts'
import type { JobFailures, WorkerContext } from '../src/worker/worker.ts'
import type { Backend, JobQueue } from './backends/backend.ts'
import { createLakeSchedule, lakesToRetry } from './lake-jobs.ts'
import { type JobQueues, type PlannedSyncJob, parseJob, type SchedulerJob } from './queues.ts'
import {
  configurationDigest,
  housekeeping,
  missedSyncJobs,
  overdueSyncJobs,
  schedulesForProjects,
} from './schedule-plan.ts'

type MaintenanceDeps = JobQueues & {
  readonly context: WorkerContext
  readonly backend: Backend
  readonly failures: JobFailures
  /** Asked each time: it can be reloaded. */
  readonly config: () => Config
}

/** Housekeeping, which runs every night, deletes runs without changes after a week. */
const housekeepingLateMs = 9 * 86_400_000

/**
 * Each worker records its heartbeat and paused queues, and repeats the sync jobs that the warehouse
 * failed. Only one of them restores schedules and enqueues what is overdue.
 */
export function createMaintenance(deps: MaintenanceDeps): () => Promise<void> {
  const { context, backend, queues, enqueueSyncJobs, failures, config } = deps
  const projects = () => config().projects
  const { log, warehouse } = context
  const syncSchedules = createScheduleSync(backend, queues.schedules)
  const enqueueDueLakes = createLakeSchedule(queues.lakes, config)
  let didDiffer = false
  // Nobody else uses its queue, which forgets what was missed.
  const isAlone = !queueBackends[backend.kind].allowsSeveralWorkers
  let mayHaveMissed = isAlone
  const enqueueMissed = async (completions: Awaited<ReturnType<typeof readLastCompletions>>) => {
    const runs = await readRuns(warehouse.db, Date.now() - recordRetentionMs.idleRuns)
    await enqueueSyncJobs(missedSyncJobs(projects(), completions, runs, Date.now()))
    const lateBefore = Date.now() - housekeepingLateMs
    if (
      [...runs.values()].some(
        ({ oldestIdleAt }) => oldestIdleAt !== null && oldestIdleAt < lateBefore,
      )
    )
      await queues.schedules.addBulk([{ name: housekeeping.job, data: housekeeping.data }])
    mayHaveMissed = false
  }
  return async () => {
    await context.recordHeartbeat(backend.kind, configurationDigest(config()))
    const differ = await context.workersDiffer()
    if (differ && !didDiffer)
      log.warn({
        event: 'workers.differ',
        why: 'workers have different projects, schedules or columns',
      })
    if (!differ && didDiffer) log.info({ event: 'workers.agree' })
    didDiffer = differ
    // Refreshing forgets them.
    await enqueueSyncJobs(syncJobsToRetry(failures.list()))
    await queues.lakes.addBulk(lakesToRetry(failures.list()))
    await failures.refresh()
    await noteConditions(deps)
    const isLeader = isAlone || (await context.tryAcquireLeadership())
    if (isLeader || differ) await syncSchedules(projects(), Date.now(), isLeader, differ)
    if (!isLeader) return
    await enqueueDueLakes(Date.now())
    const completions = await readLastCompletions(warehouse)
    const pendingChildren = await countAllPending(warehouse.db, Date.now())
    await enqueueSyncJobs(overdueSyncJobs(projects(), completions, pendingChildren, Date.now()))
    if (mayHaveMissed) await enqueueMissed(completions)
  }
}

/**
 * What a person should know: a large log; a queue that someone paused, so that nothing else fails.
 */
async function noteConditions({
  context,
  backend,
  queues,
  failures,
}: MaintenanceDeps): Promise<void> {
  const note = (job: 'queue' | 'write_ahead_log', key: string, why: string | null) => {
    const identity = { job, project: null, key, stream: null } as const
    return why === null
      ? failures.recordSuccess(identity)
      : failures.recordFailure(identity, new Error(why))
  }
  for (const [key, queue] of Object.entries(queues)) {
    const next = backend.resumeStep(queue.name ?? key)
    const why = `it is paused, so no worker takes its jobs; to resume it: ${next}`
    await note('queue', key, (await queue.isPaused()) ? why : null)
  }
  await note('write_ahead_log', '', context.describeLargeLog())
}

/** The warehouse failed them and may work again; their schedule may be a night away. */
export function syncJobsToRetry(failing: readonly FailingJob[]): PlannedSyncJob[] {
  const warehouseFailed = failing.filter(({ isWarehouseError }) => isWarehouseError)
  return warehouseFailed.flatMap(({ identity: { project, stream, mode } }): PlannedSyncJob[] => {
    const job = parseJob('sync', { project: project?.name, stream, mode })
    return job === null ? [] : [{ queue: job.mode === 'audit' ? 'audits' : 'sync', job }]
  })
}

/** How often thousands of schedules are checked although nothing seems to have changed. */
const fullCheckEveryMs = 3_600_000

export function createScheduleSync(
  backend: Pick<Backend, 'ensureSchedules'>,
  clock: JobQueue<SchedulerJob>,
) {
  let lastSync: { readonly wantedKey: string; readonly at: EpochMs } | null = null
  /** `isLeader`: others only add what is missing. `differ`: what is unknown here may be theirs. */
  return async (
    projects: readonly ProjectConfig[],
    now: EpochMs,
    isLeader: boolean,
    differ: boolean,
  ) => {
    const wanted = schedulesForProjects(projects)
    const wantedKey = JSON.stringify([isLeader, wanted])
    const count = await clock.getJobSchedulersCount()
    const isComplete = differ ? count >= wanted.length : count === wanted.length
    if (isComplete && lastSync?.wantedKey === wantedKey && now - lastSync.at < fullCheckEveryMs)
      return
    const found = new Set((await clock.getJobSchedulers(0, -1)).map(({ key }) => key))
    await backend.ensureSchedules(
      clock,
      isLeader ? wanted : wanted.filter(({ id }) => !found.has(id)),
    )
    const known = new Set(wanted.map(({ id }) => id))
    if (!differ) for (const id of found) if (!known.has(id)) await clock.removeJobScheduler(id)
    lastSync = { wantedKey, at: now }
  }
}
