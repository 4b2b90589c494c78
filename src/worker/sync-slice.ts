/** One time slice of a sync run: one stream of a project, read under its lock. */
import type { StreamName } from '../../schema/stream-specs.ts'
import { runSyncUnderLock } from '../app/sync.ts'
import type { ProjectConfig } from '../config/config.ts'
import { setPause } from '../maintenance/sql/projects.ts'
import type { SyncOutcome } from '../mirror/mirror.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import type { Ms } from '../values/time.ts'
import {
  currentPause,
  type EarlySliceEnd,
  pauseProject,
  serviceOptions,
  type WorkerResources,
} from './resources.ts'

/**
 * `sliceMs`: after this time the run ends as soon as it can be continued later. `signal`: ends it
 * after the current page.
 */
export type SliceOptions = {
  readonly stream: StreamName
  /** Only people request `full`. */
  readonly mode: 'incremental' | 'reconcile'
  readonly sliceMs: Ms
  readonly signal: AbortSignal
}

export type SyncSliceResult =
  | { readonly kind: 'done'; readonly outcome: SyncOutcome; readonly changed: number }
  | EarlySliceEnd

/** Another process reads the stream now. */
const blockedBy = (holder: string): EarlySliceEnd => ({
  kind: 'blocked',
  why: `${holder} reads it`,
  retryMs: 2000 + Math.random() * 3000,
})

export async function runSyncSlice(
  resources: WorkerResources,
  project: ProjectConfig,
  { stream, mode, sliceMs, signal }: SliceOptions,
): Promise<SyncSliceResult> {
  const { warehouse, budgets, log, metrics } = resources
  const { pause, isRecorded } = await currentPause(resources, project)
  if (pause !== null) return pause
  const lock = await acquireStreamLocks(warehouse.projectDb(project.projectId), [stream])
  if (!lock.held) return blockedBy(lock.holder)
  const endsAt = performance.now() + sliceMs
  const { run, isLockLost } = await runSyncUnderLock(lock, warehouse, budgets, project, {
    ...serviceOptions(resources, project, signal),
    mode,
    streams: [stream],
    isSliceOver: () => performance.now() >= endsAt,
    maxFactsMs: sliceMs,
    onProgress: () => {},
  })
  for (const report of run.reports) metrics.countStream(project.name, report)
  for (const notice of run.notices) {
    const level = resources.isNewMessage(`${project.name} ${stream} ${notice}`) ? 'warn' : 'debug'
    log[level]({ event: 'sync.noticed', project: project.name, stream, notice })
  }
  if (run.fatalFailure?.kind === 'denied') return pauseProject(resources, project, run.fatalFailure)
  if (isRecorded) await setPause(warehouse.db, project.projectId, null)
  if (signal.aborted) return { kind: 'interrupted' }
  if (isLockLost) return blockedBy('another process')
  const { outcome, reports } = run
  if (outcome === 'interrupted') return { kind: 'more' }
  if (outcome === 'failed') {
    const failed = reports.find((report) => report.failed !== null)?.failed
    return { kind: 'failed', why: failed ?? 'the service does not answer' }
  }
  return { kind: 'done', outcome, changed: reports.reduce((sum, { changed }) => sum + changed, 0) }
}
