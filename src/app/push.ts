/** Runs `push`: sends the queued write-backs of one project until none can be sent. */
import pRetry from 'p-retry'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { Outbox, PushProgress, PushReport } from '../outbox/outbox.ts'
import { push } from '../outbox/send/push.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { type BudgetView, steadyLimits } from '../service/core/budget.ts'
import { projectCommandHint, UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { readClock } from '../warehouse/dialect.ts'
import { noRetry } from '../warehouse/retry.ts'
import { strictestRules } from './apply-columns.ts'
import { openMirror, refreshFacts } from './facts.ts'
import { type Warehouse, withWarehouse } from './open.ts'
import { findClockNotice, openOutbox } from './outbox.ts'
import { openSendRecord } from './send-record.ts'
import {
  type CommandOptions,
  fatalRunError,
  openProject,
  reportBudget,
  type Service,
  startRequestCounting,
} from './service.ts'

type PushOptions = CommandOptions & {
  readonly onProgress: (progress: PushProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Ignores the circuit breaker. */
  readonly despiteFailures: boolean
}

/** Throws UserError: the key is denied, the service does not answer, writing is switched off. */
export async function pushProject(
  config: Config,
  project: ProjectConfig,
  options: PushOptions,
): Promise<PushReport> {
  const { signal, log, despiteFailures } = options
  if (project.readOnly) {
    // What is in flight is not sent again, and what is queued stays so.
    await withWarehouse(config, ({ projectDb }) =>
      createOutbox(projectDb(project.projectId)).revokeSending(readOnlySetting),
    )
    throw new UserError({
      what: `nothing is sent for the project ${project.name}`,
      why: `writing to the service is switched off (${readOnlySetting})`,
      next:
        'to allow writing, set DESKMIRROR_READ_ONLY=0 (`read_only` in ' +
        'deskmirror.yaml) or leave it out',
    })
  }
  const startedAt = Date.now()
  return withOpened(async (use) => {
    const { service, warehouse, budgets } = await openProject(use, config, project, options)
    await openOutbox(config, project, warehouse)
    const sendRecord = openSendRecord(config, project, { warehouse, budgets, log })
    await sendRecord.requireCurrent()
    use(startRequestCounting(warehouse, project, 'push', service))
    const clockNotice = await findClockNotice(warehouse)
    if (clockNotice !== null) options.notify?.(clockNotice)
    const deps = sendRecord.guard(await writebackDeps(warehouse, project, service, log))
    const result = await push(deps, {
      despiteFailures,
      limits: steadyLimits(project),
      hint: projectCommandHint(config.projects, project.name),
      onProgress: (progress) => {
        options.onProgress(progress)
        reportBudget(service, options.onBudget)
      },
    })
    await refreshFacts(warehouse, project, { signal, log })
    if ('fatalFailure' in result)
      throw fatalRunError(project, result.fatalFailure, service.client.hasServiceResponded())
    const tookMs = Date.now() - startedAt
    const requests = service.client.requestCount()
    return { project: project.name, ...result, tookMs, requests }
  })
}

export async function writebackDeps(
  warehouse: Warehouse,
  project: ProjectConfig,
  service: Service,
  log: Logger,
) {
  const { client, signal } = service
  const { projectId, schema, history } = project
  const outbox = createOutbox(warehouse.projectDb(projectId))
  const { settleSent } = outbox
  // Only this process knows the response, so its outcome is stored again for half a minute while
  // the database restarts, which is idempotent. Commands with warehouse retries wait longer anyway.
  const retries = { retries: 10, minTimeout: 100, maxTimeout: 5000 } as const
  const persistent: Outbox['settleSent'] = (...outcome) =>
    pRetry(() => settleSent(...outcome), retries)
  return {
    ...project,
    get: client.get,
    columns: await warehouse.retry.run(() => strictestRules(warehouse, project)),
    compared: service.columns,
    send: client.send,
    isProjectServed: client.isProjectServed,
    outbox: warehouse.retry === noRetry ? { ...outbox, settleSent: persistent } : outbox,
    mirror: openMirror(warehouse, projectId, { schema, history, columns: service.columns }),
    now: await warehouse.retry.run(() => readClock(warehouse.db, warehouse.kind)),
    random: Math.random,
    signal,
    log,
  }
}

/** Recorded as the author of revocations when writing is switched off. */
export const readOnlySetting = 'DESKMIRROR_READ_ONLY'
