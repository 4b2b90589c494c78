/** The resources that the parts of a worker share, and the callbacks that they report to. */
import type { Connections } from '../../api/connections.ts'
import type { ProjectConfig } from '../../config/config.ts'
import type { ApiFailure } from '../../core/api-failure.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { Priority } from '../../core/rate-limit/priority.ts'
import type { StreamName } from '../../core/streams.ts'
import type { Logger } from '../../log.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { RequestBudgets } from '../request-budgets.ts'
import type { ServiceOptions } from '../service.ts'

export type WorkerContextOptions = {
  readonly log: Logger
  readonly onOutcome: (project: string, priority: Priority, outcome: 'ok' | ApiFailure['kind']) => void
  readonly onSettled: (project: string, status: WritebackStatus) => void
  readonly onLoaded: (project: string, stream: StreamName, rows: number, changed: number) => void
}

export type WorkerResources = WorkerContextOptions & {
  /** Whether the message was not logged recently, apart from its numbers. */
  readonly isNewMessage: (message: string) => boolean
  readonly warehouse: Warehouse
  readonly budgets: RequestBudgets
  readonly connections: Connections
}

export function serviceOptions(
  { connections, log, onOutcome }: WorkerResources,
  { name }: ProjectConfig,
  signal: AbortSignal,
): ServiceOptions {
  return { signal, connections, log, onOutcome: (priority, outcome) => onOutcome(name, priority, outcome) }
}
