/** The resources that the parts of a worker share, and the metrics that they count. */

import type { Warehouse } from '../app/open.ts'
import type { RequestBudgets } from '../app/request-budgets.ts'
import { withRequestCounting } from '../app/request-counting.ts'
import type { SendRecord } from '../app/send-record.ts'
import { type Service, type ServiceOptions, withService } from '../app/service.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { WorkerMetrics } from '../http/metrics.ts'
import type { Logger } from '../log.ts'
import type { Connections } from '../service/connections.ts'
import type { RequestPurpose } from '../service/sql/request-counts.ts'

export type WorkerContextOptions = { readonly log: Logger; readonly metrics: WorkerMetrics }

export type WorkerResources = WorkerContextOptions & {
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
export function withWorkerService<T>(
  resources: WorkerResources,
  project: ProjectConfig,
  signal: AbortSignal,
  purpose: RequestPurpose,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const { warehouse, budgets } = resources
  return withService(project, budgets.forProject(project), serviceOptions(resources, project, signal), (service) =>
    withRequestCounting(warehouse, project, purpose, service, () => work(service)),
  )
}
