/** Runs `audit`: reads a random sample of the mirror again, corrects what differs, and says what follows. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import {
  type AuditedStream,
  type AuditResult,
  auditedStreams,
  estimateDifferences,
  pooledMs,
} from '../mirror/core/audit.ts'
import { isMassDeletion } from '../mirror/core/mass-deletion.ts'
import type { AuditReport } from '../mirror/core/proof-reports.ts'
import type { Difference, SyncProgress } from '../mirror/core/reports.ts'
import { isStopped } from '../mirror/sync/stop.ts'
import { type AuditDeps, runAudit } from '../mirror/verify/audit.ts'
import { ApiError } from '../service/core/api-failure.ts'
import { formatCount } from '../values/format.ts'
import { canAudit, createAuditDeps } from './audit-deps.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { withRequestCounting } from './request-counting.ts'
import { fatalRunError, type Service, withService } from './service.ts'
import { withRequestBudgets, withWarehouseRetries } from './with-resources.ts'

type AuditOptions = {
  /** How many rows of each stream; undefined = as configured. */
  readonly sampleSize: number | undefined
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  /** Reports that the warehouse is away, or back. */
  readonly notify?: (line: string) => void
  readonly log: Logger
}

/** Continues an open audit. Throws UserError: denied, or a warehouse that cannot be used. */
export function auditProject(config: Config, project: ProjectConfig, options: AuditOptions): Promise<AuditReport> {
  const { signal, log } = options
  return withWarehouseRetries(config, options, (warehouse, warehouseRetry) => {
    const auditWith = (budgets: RequestBudgets) =>
      withService(project, budgets.forProject(project), { signal, log }, (service) =>
        withRequestCounting(warehouse, project, 'audit', service, () =>
          auditStreams(warehouse, budgets, project, service, options),
        ),
      )
    return withRequestBudgets(config, warehouse, log, auditWith, warehouseRetry)
  })
}

async function auditStreams(
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  service: Service,
  options: AuditOptions,
): Promise<AuditReport> {
  const { signal, log, sampleSize = project.auditSample } = options
  const context = { warehouse, budgets, project, service, serviceOptions: { signal, log }, sampleSize }
  const deps = createAuditDeps({ ...context, onRow: progressCounter(service, options) })
  const audits: AuditResult[] = []
  const notices: string[] = []
  let outcome: AuditReport['outcome'] = 'done'
  for (const stream of auditedStreams.filter((name) => project.streams.includes(name))) {
    if (!(await canAudit(warehouse, project, stream))) {
      notices.push(`${stream} cannot be audited before a sync has read them and what belongs to them to the end`)
      continue
    }
    const result = await finishAudit(deps, project, stream)
    if (result === null) outcome = 'interrupted'
    else {
      audits.push(result)
      if (isMassDeletion(result.gone, result.drawn)) notices.push(massDeletionNotice(result))
    }
  }
  notices.push(...deps.notices)
  const store = warehouse.audits(project.projectId)
  const estimates = estimateDifferences(await store.listFinished(Date.now() - pooledMs), Date.now())
  const differences: readonly Difference[] = await store.listDifferences(audits.map(({ id }) => id))
  return {
    project: project.name,
    audits,
    differences,
    estimates,
    outcome,
    requests: service.client.requestCount(),
    notices,
  }
}

export function massDeletionNotice({ stream, gone, drawn }: AuditResult): string {
  const what = `the service did not find ${formatCount(gone)} of ${formatCount(drawn)} ${stream} that were read again`
  return `nothing was marked as deleted, although ${what}: a fault is likelier`
}

const lockRetryMs = 1000

/** Null: stopped on request; the next audit continues. */
async function finishAudit(
  deps: AuditDeps,
  project: ProjectConfig,
  stream: AuditedStream,
): Promise<AuditResult | null> {
  try {
    for (;;) {
      const step = await runAudit(deps, stream)
      if (step.kind === 'finished') return step.result
      // A worker or another command is reading the stream.
      await sleep(lockRetryMs, undefined, { signal: deps.signal }).catch(() => {})
    }
  } catch (error) {
    if (isStopped(error)) return null
    if (error instanceof ApiError) throw fatalRunError(project, error.failure, true)
    throw error
  }
}

function progressCounter({ client }: Service, { onProgress }: AuditOptions) {
  const rows = new Map<AuditedStream, number>()
  return (stream: AuditedStream) => {
    const read = (rows.get(stream) ?? 0) + 1
    rows.set(stream, read)
    onProgress({ stream, state: 'running', rows: read, changed: 0, requests: client.requestCount(), left: null })
  }
}
