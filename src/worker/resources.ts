/**
 * The resources that the parts of a worker share; and the pause of a project whose key the service
 * denies.
 */
import type { Warehouse } from '../app/open.ts'
import { keyFingerprint, type RequestBudgets } from '../app/request-budgets.ts'
import type { SendRecord } from '../app/send-record.ts'
import {
  openService,
  type Service,
  type ServiceOptions,
  startRequestCounting,
} from '../app/service.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { Metrics } from '../http/http.ts'
import type { Logger } from '../log.ts'
import { readPause, setPause } from '../maintenance/sql/projects.ts'
import { ApiError, type ApiFailure, describeFailure } from '../service/core/api-failure.ts'
import type { Connections } from '../service/exchange.ts'
import type { RequestPurpose } from '../service/sql/request-counts.ts'
import type { EarlyEnd } from '../values/early-end.ts'
import type { Ms } from '../values/time.ts'
import type { Use } from '../values/with-opened.ts'

export type WorkerResources = {
  readonly log: Logger
  readonly metrics: Metrics
  /** Whether no message with the same text, ignoring numbers, was logged recently. */
  readonly isNewMessage: (message: string) => boolean
  readonly warehouse: Warehouse
  readonly budgets: RequestBudgets
  /** Notices that the project's database went back in time. */
  readonly sendRecordOf: (project: ProjectConfig) => SendRecord
  readonly connections: Connections
}

export function serviceOptions(
  { connections, log, metrics }: WorkerResources,
  { name: project }: ProjectConfig,
  signal: AbortSignal,
): ServiceOptions {
  return {
    signal,
    connections,
    log,
    onOutcome: (priority, outcome) => metrics.countRequest({ project, priority, outcome }),
  }
}

/** Connects to the service for one job, and records its requests. */
export function openWorkerService(
  use: Use,
  resources: WorkerResources,
  project: ProjectConfig,
  signal: AbortSignal,
  purpose: RequestPurpose,
): Service {
  const { warehouse, budgets } = resources
  const options = serviceOptions(resources, project, signal)
  const service = use(openService(project, budgets.forProject(project), options))
  use(startRequestCounting(warehouse, project, purpose, service))
  return service
}

/**
 * How work on a project ended before its end. `retryMs`: whatever blocks it may have gone by then;
 * null: the next firing or poll is soon enough.
 */
export type EarlySliceEnd =
  /** A retry may help. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: Exclude<EarlyEnd, 'blocked'> }
  | { readonly kind: 'blocked'; readonly why: string; readonly retryMs: Ms | null }

/** The service denies the key: until some time has passed or the key changes, nothing is asked. */
const blockedByPause = (why: string): EarlySliceEnd => ({ kind: 'blocked', why, retryMs: null })

/** A denial that passes costs a minute; one that lasts is asked about four times an hour. */
const firstPauseMs: Ms = 60_000
const nextPauseMs: Ms = 15 * 60_000

/** `pause` null: the project is not paused. `isRecorded`: a pause is stored, even if it is over. */
export async function currentPause(
  { warehouse }: Pick<WorkerResources, 'warehouse'>,
  project: ProjectConfig,
): Promise<{ readonly pause: EarlySliceEnd | null; readonly isRecorded: boolean }> {
  const stored = await readPause(warehouse.db, project.projectId)
  const isPaused = stored?.keyFingerprint === keyFingerprint(project) && stored.until > Date.now()
  return { pause: isPaused ? blockedByPause(stored.why) : null, isRecorded: stored !== null }
}

/** How a request's failure ends work on a project. Throws what is none. */
export async function endByFailure(
  resources: Pick<WorkerResources, 'warehouse' | 'log'>,
  project: ProjectConfig,
  error: unknown,
): Promise<EarlySliceEnd> {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'denied') return pauseProject(resources, project, failure)
  return failure.kind === 'aborted'
    ? { kind: 'interrupted' }
    : { kind: 'failed', why: describeFailure(failure) }
}

/** Call it only if the service denies the key, not one row: src/service/core/whose-refusal.ts. */
export async function pauseProject(
  resources: Pick<WorkerResources, 'warehouse' | 'log'>,
  project: ProjectConfig,
  denied: ApiFailure,
): Promise<EarlySliceEnd> {
  const { warehouse, log } = resources
  const why = describeFailure(denied)
  const { pause, isRecorded } = await currentPause(resources, project)
  // Another job met the same denial.
  if (pause !== null) return pause
  const forMs = isRecorded ? nextPauseMs : firstPauseMs
  log.error({ event: 'project.paused', project: project.name, why, for_ms: forMs })
  await setPause(warehouse.db, project.projectId, {
    until: Date.now() + forMs,
    keyFingerprint: keyFingerprint(project),
    why,
  })
  return blockedByPause(why)
}

/**
 * A worker that starts tries each key at once: whoever restarts it may have made the key work
 * again.
 */
export async function endPauses(
  { db }: Pick<Warehouse, 'db'>,
  projects: readonly ProjectConfig[],
): Promise<void> {
  for (const { projectId } of projects)
    if ((await readPause(db, projectId)) !== null) await setPause(db, projectId, null)
}
