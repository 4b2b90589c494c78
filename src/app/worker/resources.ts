/** What the parts of a worker share for as long as it runs, and whom they tell what they do. */
import type { Connections } from '../../api/connections.ts'
import type { ProjectConfig } from '../../config/load.ts'
import type { ApiFailure } from '../../core/api-failure.ts'
import type { Priority } from '../../core/rate-limit/priority.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { StreamName } from '../../core/row.ts'
import type { Logger } from '../../log.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { RequestBudgets } from '../request-budgets.ts'
import type { ServiceOptions } from '../service.ts'

export type WorkerContextOptions = {
  readonly log: Logger
  readonly onOutcome: (project: string, lane: Priority, outcome: 'ok' | ApiFailure['kind']) => void
  readonly onSettled: (project: string, status: WritebackStatus) => void
  readonly onLoaded: (project: string, stream: StreamName, rows: number, changed: number) => void
}

export type WorkerResources = WorkerContextOptions & {
  /** Whether such a sentence has not been said lately: the same one with other numbers is none. */
  readonly isNewMessage: (sentence: string) => boolean
  readonly warehouse: Warehouse
  readonly budgets: RequestBudgets
  readonly connections: Connections
}

/** How it talks to the service for a project. */
export function serviceOptions(
  { connections, log, onOutcome }: WorkerResources,
  { name }: ProjectConfig,
  signal: AbortSignal,
): ServiceOptions {
  return { signal, connections, log, onOutcome: (lane, outcome) => onOutcome(name, lane, outcome) }
}
