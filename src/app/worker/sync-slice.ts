/** A portion of a pass: one stream of a project, read under its lock for a while. */
import type { ProjectConfig } from '../../config/load.ts'
import { parentStreams, type SyncOutcome } from '../../core/mirror.ts'
import type { StreamName } from '../../core/row.ts'
import type { Ms } from '../../core/time.ts'
import { runSyncUnderLock } from '../sync-run.ts'
import { type WorkerResources, serviceOptions } from './resources.ts'
import { type PausedResult, pauseProject, currentPause } from './project-pause.ts'

/** What a worker's schedules ask for; `full` is asked for by people only. */
export type SyncSliceMode = 'incremental' | 'reconcile'

/** `portionMs`: after so long the pass ends where it can go on later. `signal`: after the page in hand. */
export type SyncSliceOptions = {
  readonly stream: StreamName
  readonly mode: SyncSliceMode
  readonly sliceMs: Ms
  readonly signal: AbortSignal
}

export type SyncSliceResult =
  | { readonly kind: 'done'; readonly outcome: SyncOutcome; readonly changed: number }
  /** The portion is over and there is more: to be gone on with in this mode. */
  | { readonly kind: 'more'; readonly mode: SyncSliceMode }
  /** Somebody else reads the stream just now. */
  | { readonly kind: 'busy'; readonly holder: string }
  /** The service denies the key: the project rests. */
  | PausedResult
  /** Trying again may help. */
  | { readonly kind: 'failed'; readonly why: string }
  /** Stopped on request. */
  | { readonly kind: 'interrupted' }

export async function runSyncSlice(
  resources: WorkerResources,
  project: ProjectConfig,
  { stream, mode, sliceMs, signal }: SyncSliceOptions,
): Promise<SyncSliceResult> {
  const { warehouse, budgets, log, onLoaded } = resources
  const { paused, noted } = await currentPause(resources, project)
  if (paused !== null) return paused
  const lock = await warehouse.lockStreams(project.projectId, [stream], Date.now())
  if (!lock.held) return { kind: 'busy', holder: lock.holder }
  const endsAt = performance.now() + sliceMs
  const { synced, lost } = await runSyncUnderLock(lock, warehouse, budgets, project, {
    ...serviceOptions(resources, project, signal),
    mode,
    streams: [stream],
    isSliceOver: () => performance.now() >= endsAt,
    onProgress: () => {},
  })
  for (const { stream, rows, changed } of synced.reports) onLoaded(project.name, stream, rows, changed)
  for (const notice of synced.notices) {
    const level = resources.isNewMessage(`${project.name} ${stream} ${notice}`) ? 'warn' : 'debug'
    log[level]({ event: 'pass.noticed', project: project.name, stream, notice })
  }
  if (synced.stopped?.kind === 'denied') return pauseProject(resources, project, synced.stopped)
  if (noted) await warehouse.projects.setPause(project.projectId, null)
  if (signal.aborted) return { kind: 'interrupted' }
  if (lost) return { kind: 'busy', holder: 'another process' }
  const { outcome, reports } = synced
  // What a reconcile asks of children is noted on them by its first portion.
  if (outcome === 'interrupted') return { kind: 'more', mode: stream in parentStreams ? 'incremental' : mode }
  if (outcome === 'failed') {
    const failed = reports.find((report) => report.failed !== null)?.failed
    return { kind: 'failed', why: failed ?? 'the service does not answer' }
  }
  return { kind: 'done', outcome, changed: reports.reduce((sum, { changed }) => sum + changed, 0) }
}
