/** A portion of a pass: one stream of a project, read under its lock for a while. */
import type { ProjectConfig } from '../../config.ts'
import { childStreams, type RunOutcome } from '../../core/mirror.ts'
import type { StreamName } from '../../core/row.ts'
import type { Ms } from '../../core/time.ts'
import { runUnder } from '../run.ts'
import { type Means, serviceOptions } from './means.ts'
import { type Paused, rest, restOf } from './rest.ts'

/** What a worker's schedules ask for; `full` is asked for by people only. */
export type PassMode = 'incremental' | 'reconcile'

/** `portionMs`: after so long the pass ends where it can go on later. `signal`: after the page in hand. */
export type PassAsk = {
  readonly stream: StreamName
  readonly mode: PassMode
  readonly portionMs: Ms
  readonly signal: AbortSignal
}

export type PassEnd =
  | { readonly kind: 'done'; readonly outcome: RunOutcome; readonly changed: number }
  /** The portion is over and there is more: to be gone on with in this mode. */
  | { readonly kind: 'more'; readonly mode: PassMode }
  /** Somebody else reads the stream just now. */
  | { readonly kind: 'busy'; readonly holder: string }
  /** The service denies the key: the project rests. */
  | Paused
  /** Trying again may help. */
  | { readonly kind: 'failed'; readonly why: string }
  /** Stopped on request. */
  | { readonly kind: 'interrupted' }

export async function pass(
  means: Means,
  project: ProjectConfig,
  { stream, mode, portionMs, signal }: PassAsk,
): Promise<PassEnd> {
  const { warehouse, budgets, log, onLoaded } = means
  const { paused, noted } = await restOf(means, project)
  if (paused !== null) return paused
  const lock = await warehouse.lock(project.projectId, [stream], Date.now())
  if (!lock.held) return { kind: 'busy', holder: lock.holder }
  const endsAt = performance.now() + portionMs
  const { synced, lost } = await runUnder(lock, warehouse, budgets, project, {
    ...serviceOptions(means, project, signal),
    mode,
    streams: [stream],
    isEnough: () => performance.now() >= endsAt,
    onProgress: () => {},
  })
  for (const { stream, rows, changed } of synced.reports) onLoaded(project.name, stream, rows, changed)
  for (const notice of synced.notices) {
    const level = means.isNews(`${project.name} ${stream} ${notice}`) ? 'warn' : 'debug'
    log[level]({ event: 'pass.noticed', project: project.name, stream, notice })
  }
  if (synced.stopped?.kind === 'denied') return rest(means, project, synced.stopped)
  if (noted) await warehouse.fleet.pause(project.projectId, null)
  if (signal.aborted) return { kind: 'interrupted' }
  if (lost) return { kind: 'busy', holder: 'another process' }
  const { outcome, reports } = synced
  // What a reconcile asks of children is noted on them by its first portion.
  if (outcome === 'interrupted') return { kind: 'more', mode: stream in childStreams ? 'incremental' : mode }
  if (outcome === 'failed') {
    const failed = reports.find((report) => report.failed !== null)?.failed
    return { kind: 'failed', why: failed ?? 'the service does not answer' }
  }
  return { kind: 'done', outcome, changed: reports.reduce((sum, { changed }) => sum + changed, 0) }
}
