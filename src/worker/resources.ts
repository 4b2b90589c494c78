/** The resources that the parts of a worker share, and the metrics that they count. */

import type { Warehouse } from '../app/open.ts'
import type { RequestBudgets } from '../app/request-budgets.ts'
import { withRequestCounting } from '../app/request-counting.ts'
import type { SendRecord } from '../app/send-record.ts'
import { type Service, type ServiceOptions, withService } from '../app/service.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { JobIdentity } from '../maintenance/core/job-failure.ts'
import type { AuditResult } from '../mirror/core/audit.ts'
import type { StreamReport } from '../mirror/core/mirror.ts'
import type { WritebackStatus } from '../outbox/core/state.ts'
import type { Connections } from '../service/connections.ts'
import type { ApiFailure } from '../service/core/api-failure.ts'
import type { Priority } from '../service/core/priority.ts'
import type { RequestPurpose } from '../service/sql/request-counts.ts'
import type { ProjectName } from '../values/project.ts'

/** The metrics that this folder counts, implemented by `createMetrics`. */
export type WorkerMetrics = {
  /** A request got a response, or was given up. */
  readonly countRequest: (request: {
    project: ProjectName
    priority: Priority
    outcome: 'ok' | ApiFailure['kind']
  }) => void
  readonly countStream: (project: ProjectName, report: StreamReport) => void
  /** An audit has finished. */
  readonly countAudit: (project: ProjectName, result: AuditResult) => void
  /** A write-back reached this status. */
  readonly countSettled: (writeback: { project: ProjectName; status: WritebackStatus }) => void
  readonly countJobFailure: (identity: JobIdentity) => void
}

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
