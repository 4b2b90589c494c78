/** The `push` use case: opens what it needs and sends one project's queued write-backs until none can be sent. */

import pRetry from 'p-retry'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { countWithoutProject } from '../maintenance/sql/projects.ts'
import { countOperations, estimateBatchMs } from '../outbox/core/batches.ts'
import { operations } from '../outbox/core/operations.ts'
import type { OperationCounts, Outbox, PushReport, SendProgress, WritebackDeps } from '../outbox/outbox.ts'
import { circuitNotices, missingScopeNotices, withoutProjectNotices } from '../outbox/send/circuit-breaker.ts'
import { sendQueued } from '../outbox/send/send-queued.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import type { BudgetView, SlotLimits } from '../service/core/budget.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { projectCommandHint, UserError } from '../values/user-error.ts'
import { readClock } from '../warehouse/dialect.ts'
import { noRetry } from '../warehouse/retry.ts'
import { refreshFacts } from './facts.ts'
import { openMirror } from './mirror.ts'
import type { Warehouse } from './open.ts'
import { findClockNotice, openOutbox } from './outbox.ts'
import { readSlotLimits } from './request-budgets.ts'
import { openSendRecord } from './send-record.ts'
import { fatalRunError, reportBudget, type Service, withProject, withRequestCounting } from './service.ts'
import { withWarehouse } from './with-warehouse.ts'

type PushOptions = {
  readonly signal: AbortSignal
  readonly onProgress: (progress: PushProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Called when the warehouse becomes unavailable or available again. */
  readonly notify?: (line: string) => void
  /** Ignores the circuit breaker. */
  readonly despiteFailures: boolean
  readonly log: Logger
}

/** Throws UserError if the key is denied, the service does not answer, or writing is switched off. */
export async function pushProject(config: Config, project: ProjectConfig, options: PushOptions): Promise<PushReport> {
  const { signal, log, despiteFailures } = options
  if (project.readOnly) {
    // What is in flight is not sent again, and what is queued stays so.
    await withWarehouse(config, ({ projectDb }) =>
      createOutbox(projectDb(project.projectId)).revokeSending(readOnlySetting),
    )
    throw new UserError({
      what: `nothing is sent for the project ${project.name}`,
      why: `writing to the service is switched off (${readOnlySetting})`,
      next: 'to allow writing, set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml) or leave it out',
      exitCode: 2,
    })
  }
  const startedAt = Date.now()
  return withProject(config, project, options, async (service, warehouse, budgets) => {
    const outbox = await openOutbox(config, project, warehouse)
    const sendRecord = openSendRecord(config, project, { warehouse, budgets, log })
    await sendRecord.requireCurrent()
    return withRequestCounting(warehouse, project, 'push', service, async () => {
      const clockNotice = await findClockNotice(warehouse)
      if (clockNotice !== null) options.notify?.(clockNotice)
      const total = countOperations(await outbox.countByOperation({ statuses: ['queued', 'sending'] }))
      const limits = await readSlotLimits(warehouse, project)
      const onProgress = (progress: SendProgress) => {
        options.onProgress(toPushProgress(limits, total, progress, Date.now()))
        reportBudget(service, options.onBudget)
      }
      const deps = sendRecord.guard(await writebackDeps(warehouse, project, service, log))
      const result = await sendQueued(deps, { maxConcurrentLanes, despiteFailures, onProgress })
      await refreshFacts(warehouse, project, { signal, log })
      if (result.fatalFailure !== null)
        throw fatalRunError(project, result.fatalFailure, service.client.hasServiceResponded())
      const queue = await outbox.countByStatus({})
      const stopped = await outbox.listStoppedBatches(maxStopped)
      const notices = [
        ...circuitNotices(result.circuits, projectCommandHint(config.projects, project.name)),
        ...missingScopeNotices(result.denied),
        ...withoutProjectNotices(await warehouse.retry.run(() => countWithoutProject(warehouse.db))),
      ]
      return {
        project: project.name,
        settled: result.outcomes.counts,
        reasons: result.outcomes.reasons,
        queue,
        stopped: stopped.flatMap(({ id, counts: { draft: drafts } }) =>
          drafts === undefined ? [] : [{ batch: id, drafts }],
        ),
        tookMs: Date.now() - startedAt,
        requests: service.client.requestCount(),
        outcome: signal.aborted ? 'interrupted' : notices.length > 0 ? 'held' : 'done',
        notices,
        heldLanes: queue.uncertain ?? 0,
      }
    })
  })
}

const maxStopped = 20

export type PushProgress = ReturnType<typeof toPushProgress>

/** `total`: as it was at the start. */
export function toPushProgress(
  limits: SlotLimits,
  total: OperationCounts,
  { settled, counts, operations: done, reasons, working, rest }: SendProgress,
  now: EpochMs,
) {
  const left = countOperations(
    operations.map((operation) => ({
      operation,
      count: Math.max(0, (total[operation] ?? 0) - (done[operation] ?? 0)),
    })),
  )
  const restMs = rest === null ? 0 : Math.max(0, rest.until - now)
  return {
    ...{ settled, counts, reasons, working },
    left: Object.values(left).reduce((sum, count) => sum + count, 0),
    /** With the reads of preconditions and what it waits for. */
    takesMs: estimateBatchMs(limits, left, 0) + restMs,
    /** RFC 3339; null if something can be sent now. */
    restsUntil: rest === null ? null : toTimestamp(rest.until),
    restsBecause: rest?.because ?? null,
  }
}

/** Lanes per process: enough to use a key's write rate when responses take a second. */
export const maxConcurrentLanes = 6

export async function writebackDeps(
  warehouse: Warehouse,
  project: ProjectConfig,
  service: Service,
  log: Logger,
): Promise<WritebackDeps> {
  const { client, signal } = service
  const outbox = createOutbox(warehouse.projectDb(project.projectId))
  const { settleSent } = outbox
  // Only this process knows the response, so its outcome is stored again for half a minute while the database restarts, which
  // is idempotent. Commands with warehouse retries wait longer anyway.
  const retries = { retries: 10, minTimeout: 100, maxTimeout: 5000 } as const
  const persistent: Outbox['settleSent'] = (...outcome) => pRetry(() => settleSent(...outcome), retries)
  return {
    ...project,
    get: client.get,
    send: client.send,
    outbox: warehouse.retry === noRetry ? { ...outbox, settleSent: persistent } : outbox,
    mirror: openMirror(warehouse, project.projectId, { schema: project.schema }),
    now: await warehouse.retry.run(() => readClock(warehouse.db, warehouse.kind)),
    random: Math.random,
    signal,
    log,
  }
}

/** Recorded as the author of revocations when writing is switched off. */
export const readOnlySetting = 'DESKMIRROR_READ_ONLY'
