/** The resources that the parts of a worker share, and the metrics that they count. */
import type { Connections } from '../../api/connections.ts'
import type { ProjectConfig } from '../../config/config.ts'
import type { ApiFailure } from '../../core/api-failure.ts'
import type { AuditResult } from '../../core/audit.ts'
import type { JobIdentity } from '../../core/job-failure.ts'
import type { StreamReport } from '../../core/mirror.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { ProjectName } from '../../core/project.ts'
import type { Priority } from '../../core/rate-limit/priority.ts'
import type { Logger } from '../../log.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { RequestPurpose } from '../../warehouse/request-counts.ts'
import type { RequestBudgets } from '../request-budgets.ts'
import { withRequestCounting } from '../request-counting.ts'
import type { SendRecord } from '../send-record.ts'
import { type Service, type ServiceOptions, withService } from '../service.ts'

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
