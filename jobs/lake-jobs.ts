/**
 * Lakes: when each is to be written, and the job that does it. A lake itself says when it was
 * written, so a missed night, a killed job and a new setting all look alike: it is due.
 */
import { exportLake } from '../src/app/export.ts'
import type { Config } from '../src/config/config.ts'
import { type ConfiguredLake, lakesOf } from '../src/config/lakes.ts'
import { keptFiles } from '../src/export/kept-files.ts'
import { readManifest } from '../src/export/lake/manifest.ts'
import { LakeBusyError, mirroredObjects } from '../src/export/lake/write-lake.ts'
import type { FailingJob } from '../src/maintenance/maintenance.ts'
import type { EpochMs } from '../src/values/time.ts'
import { UserError } from '../src/values/user-error.ts'
import type { JobQueue, NewJob } from './backends/backend.ts'
import type { JobType } from './job-handler.ts'
import { type JobData, jobId, retries } from './queues.ts'
import { lakeFiredAt } from './schedule-plan.ts'

type LakeJob = JobData<'lakes'>

/** Not the name of a project: the lake of the warehouse. */
const allProjects = '*'
const nameOf = ({ project }: Pick<FailingJob['identity'], 'project'>) =>
  project?.name ?? allProjects

/** `export --lake` is writing it: what is left to do then takes seconds. */
const retryBusyAfterMs = 60_000

/** An interrupted job has changed nothing, and is done again from its beginning. */
export const lakeJobs: JobType<LakeJob> = {
  identityOf: () => ({ job: 'lake' }),
  run: async ({ data, identity, tookMs }, { context: { log }, config, failures, stopping }) => {
    const lake = lakesOf(config()).find((of) => nameOf(of) === data?.project)
    if (lake === undefined) return { missing: 'lake' }
    const { folder, objects, project } = lake
    try {
      const report = await exportLake(
        config(),
        {
          folder,
          // The lake may be of a time when less was named, or mirrored.
          objects: objects.length > 0 ? objects : mirroredObjects,
          isWhole: objects.length > 0,
          projectId: project?.projectId ?? null,
          kept: keptFiles(config()),
        },
        { onProgress: () => {}, signal: stopping },
      )
      const sum = (count: 'rows' | 'partitions' | 'written') =>
        report.objects.reduce((total, object) => total + object[count], 0)
      log.info({
        event: 'lake.written',
        folder,
        rows: sum('rows'),
        files: sum('partitions'),
        written: sum('written'),
        new_columns: report.objects.flatMap(({ newColumns }) => newColumns).length,
        took_ms: tookMs(),
      })
    } catch (error) {
      if (stopping.aborted) {
        log.info({ event: 'lake.interrupted', folder })
        return { do: 'delay', afterMs: 1 }
      }
      if (!(error instanceof LakeBusyError)) throw error
      log.info({ event: 'lake.busy', folder, why: error.why })
      return { do: 'delay', afterMs: retryBusyAfterMs }
    }
    await failures.recordSuccess(identity)
    return { do: 'done' }
  },
}

function toLakeJob(project: string): NewJob<LakeJob> {
  const deduplication = { id: jobId('lakes', { project }) }
  return { name: 'lake', data: { project }, opts: { ...retries, deduplication } }
}

/** Those that the warehouse failed: their schedule may be a night away. */
export const lakesToRetry = (failing: readonly FailingJob[]): NewJob<LakeJob>[] =>
  failing
    .filter(({ identity, isWarehouseError }) => identity.job === 'lake' && isWarehouseError)
    .map(({ identity }) => toLakeJob(nameOf(identity)))

/**
 * Enqueues each lake that was not written since its schedule fired; once for a firing, as its
 * folder may be one of another machine, or one that cannot be written.
 */
export function createLakeSchedule(queue: JobQueue<LakeJob>, config: () => Config) {
  const enqueued = new Map<string, EpochMs>()
  return async (now: EpochMs): Promise<void> => {
    const due = lakesOf(config()).flatMap((lake) => {
      const firedAt = lakeFiredAt(lake, config().projects, now)
      if (firedAt === null || (enqueued.get(lake.folder) ?? 0) >= firedAt) return []
      return writtenAt(lake) >= firedAt ? [] : [{ lake, firedAt }]
    })
    if (due.length === 0) return
    await queue.addBulk(due.map(({ lake }) => toLakeJob(nameOf(lake))))
    for (const { lake, firedAt } of due) enqueued.set(lake.folder, firedAt)
  }
}

/** 0: never, as far as can be read. The job says why it cannot. */
function writtenAt({ folder }: ConfiguredLake): EpochMs {
  try {
    return Date.parse(readManifest(folder)?.writtenAt ?? '') || 0
  } catch (error) {
    if (error instanceof UserError) return 0
    throw error
  }
}
