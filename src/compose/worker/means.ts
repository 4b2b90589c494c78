/** What the parts of a worker share for as long as it runs, and whom they tell what they do. */
import type { Connections } from '../../api/connections.ts'
import type { ProjectConfig } from '../../config.ts'
import type { Failure } from '../../core/failure.ts'
import type { Lane } from '../../core/lane.ts'
import type { Status } from '../../core/outbox/state.ts'
import type { StreamName } from '../../core/row.ts'
import type { Logger } from '../../log.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import type { Budgets } from '../budgets.ts'
import type { ServiceOptions } from '../service.ts'

export type WorkplaceOptions = {
  readonly log: Logger
  readonly onOutcome: (project: string, lane: Lane, outcome: 'ok' | Failure['kind']) => void
  readonly onSettled: (project: string, status: Status) => void
  readonly onLoaded: (project: string, stream: StreamName, rows: number, changed: number) => void
}

export type Means = WorkplaceOptions & {
  /** Whether such a sentence has not been said lately: the same one with other numbers is none. */
  readonly isNews: (sentence: string) => boolean
  readonly warehouse: Warehouse
  readonly budgets: Budgets
  readonly connections: Connections
}

/** How it talks to the service for a project. */
export function serviceOptions(
  { connections, log, onOutcome }: Means,
  { name }: ProjectConfig,
  signal: AbortSignal,
): ServiceOptions {
  return { signal, connections, log, onOutcome: (lane, outcome) => onOutcome(name, lane, outcome) }
}
