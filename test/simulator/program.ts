/**
 * What a simulated process runs: `sync` and `push` as the program assembles them, and a person who
 * uses the queue.
 */

import { type Logger, pino } from 'pino'
import type { Warehouse } from '../../src/app/open.ts'
import { writebackDeps } from '../../src/app/push.ts'
import { openRequestBudgets } from '../../src/app/request-budgets.ts'
import { openService } from '../../src/app/service.ts'
import { acquireLocks } from '../../src/app/stream-locks.ts'
import { runSyncUnderLock } from '../../src/app/sync.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import type { SyncMode } from '../../src/mirror/core/reports.ts'
import { availability } from '../../src/mirror/core/streams.ts'
import { maxConcurrentLanes } from '../../src/outbox/send/lane.ts'
import { sendQueued } from '../../src/outbox/send/push.ts'
import { ApiError } from '../../src/service/core/api-failure.ts'
import type { Ms } from '../../src/values/time.ts'
import { withOpened } from '../../src/values/with-opened.ts'
import { createWarehouseRetry } from '../../src/warehouse/retry.ts'
import type { Scheduler, SimulatedProcess } from './scheduler.ts'
import type { SimulatedDatabase } from './simulated-database.ts'
import type { createSimulatedNetwork } from './simulated-network.ts'

export type ProgramDeps = {
  readonly scheduler: Scheduler
  readonly database: SimulatedDatabase
  readonly network: ReturnType<typeof createSimulatedNetwork>
  readonly project: ProjectConfig
}

/** One run of a command in a process of its own. `signal`: SIGTERM. */
export type Program = (
  deps: ProgramDeps,
  process: SimulatedProcess,
  signal: AbortSignal,
) => Promise<void>

export const mirroredStreams = ['conversations', 'messages', 'visitors', 'calls'] as const

export const syncProgram =
  (mode: SyncMode): Program =>
  (deps, process, signal) =>
    withProgram(deps, process, signal, async ({ warehouse, budgets, log, connections }) => {
      const { project } = deps
      const isSliceOver = () => process.isSliceOver
      const requests = { signal, log, connections, onProgress: () => {} }
      // Facts are derived from rows that are committed, and nothing here depends on them: they
      // would double the statements.
      const facts = { maxFactsMs: 0 }
      const options = {
        ...requests,
        ...facts,
        mode,
        streams: mirroredStreams,
        wait: false,
        isSliceOver,
      }
      const lock = await acquireLocks(warehouse, project, options)
      const { run } = await runSyncUnderLock(lock, warehouse, budgets, project, options)
      deps.scheduler.log(process.name, `has synced (${mode}): ${run.outcome}`)
    })

export const pushProgram =
  (despiteFailures: boolean): Program =>
  (deps, process, signal) =>
    withProgram(deps, process, signal, ({ warehouse, budgets, log, connections }) =>
      withOpened(async (use) => {
        const { project } = deps
        const requests = { signal, log, connections }
        const service = use(openService(project, budgets.forProject(project), requests))
        const writebacks = await writebackDeps(warehouse, project, service, log)
        const options = { maxConcurrentLanes, despiteFailures, pollMs, onProgress: () => {} }
        const { outcomes } = await sendQueued(writebacks, options)
        deps.scheduler.log(process.name, `has pushed: ${JSON.stringify(outcomes.counts)}`)
      }),
    )

/** Seldom, as each look costs several statements and changes little. */
const pollMs: Ms = 4000

/** Spends the budget as fast as it is allowed to. */
export const readProgram: Program = (deps, process, signal) =>
  withProgram(deps, process, signal, ({ budgets, log, connections }) =>
    withOpened(async (use) => {
      const { project } = deps
      const requests = { signal, log, connections }
      const { client } = use(openService(project, budgets.forProject(project), requests))
      const readAll = async () => {
        for (let n = 0; n < 4; n += 1)
          await client.get(availability.path(project.projectId), {}, 'fresh')
      }
      const results = await Promise.allSettled(Array.from({ length: 6 }, readAll))
      for (const result of results)
        if (result.status === 'rejected' && !(result.reason instanceof ApiError))
          throw result.reason
    }),
  )

type Resources = {
  readonly warehouse: Warehouse
  readonly budgets: Awaited<ReturnType<typeof openRequestBudgets>>
  readonly log: Logger
  readonly connections: ReturnType<ProgramDeps['network']['connectionsOf']>
}

async function withProgram(
  deps: ProgramDeps,
  process: SimulatedProcess,
  signal: AbortSignal,
  work: (resources: Resources) => Promise<void>,
): Promise<void> {
  const log = createProcessLog(deps, process)
  const warehouse = await deps.database.open(
    deps.scheduler,
    process,
    createWarehouseRetry({ signal }),
  )
  const budgets = await openRequestBudgets('embedded', warehouse, log)
  try {
    await work({ warehouse, budgets, log, connections: deps.network.connectionsOf(process) })
  } finally {
    await budgets.close()
  }
}

const silent = pino({ level: 'silent' })

/** What the program itself logs is part of the trace. */
function createProcessLog({ scheduler }: ProgramDeps, process: SimulatedProcess): Logger {
  if (!scheduler.isTracing) return silent
  const settings = {
    level: 'debug',
    timestamp: false,
    base: null,
    formatters: { level: () => ({}) },
  }
  return pino(settings, {
    write: (line: string) => scheduler.addToTrace(process.name, `logs ${line.trim()}`),
  })
}
