/** Runs an audit: reads a random sample of the mirror again, corrects what differs, and says what follows. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import { auditedStreams } from '../mirror/core/audit.ts'
import type { AuditDeps, AuditedStream, AuditReport, AuditResult, SyncProgress } from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { readAuditEstimates } from '../mirror/sql/mirror-state.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { auditedNames, canAudit, runAudit } from '../mirror/verify/audit.ts'
import { ApiError } from '../service/core/api-failure.ts'
import { openMirror } from './facts.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import {
  type CommandOptions,
  fatalRunError,
  type Service,
  type ServiceOptions,
  withProject,
  withRequestCounting,
} from './service.ts'
import { runSyncUnderLock, type SyncRunOptions } from './sync.ts'

type AuditOptions = CommandOptions & {
  /** How many rows of each stream; undefined = as configured. */
  readonly sampleSize: number | undefined
  readonly onProgress: (progress: SyncProgress) => void
}

/** Continues an open audit. Throws UserError: denied, or a warehouse that cannot be used. */
export function auditProject(config: Config, project: ProjectConfig, options: AuditOptions): Promise<AuditReport> {
  return withProject(config, project, options, (service, warehouse, budgets) =>
    withRequestCounting(warehouse, project, 'audit', service, () =>
      auditStreams(warehouse, budgets, project, service, options),
    ),
  )
}

async function auditStreams(
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  service: Service,
  options: AuditOptions,
): Promise<AuditReport> {
  const { requestCount } = service.client
  const rows = { conversations: 0, visitors: 0 }
  const onRow = (stream: AuditedStream) =>
    options.onProgress({
      stream,
      state: 'running',
      rows: ++rows[stream],
      changed: 0,
      requests: requestCount(),
      left: null,
    })
  const deps = createAuditDeps(warehouse, budgets, project, service, { ...options, onRow })
  const audits: AuditResult[] = []
  const notices: string[] = []
  let outcome: AuditReport['outcome'] = 'done'
  for (const stream of auditedStreams.filter((name) => project.streams.includes(name))) {
    if (!(await canAudit(deps.mirror, deps.streams, stream))) {
      notices.push(`${stream} cannot be audited before a sync has read them and what belongs to them to the end`)
      continue
    }
    const step = await finishAudit(deps, project, stream)
    if (step.kind === 'stopped') outcome = 'interrupted'
    else {
      audits.push(step.result)
      notices.push(...step.notices)
    }
  }
  const estimates = await readAuditEstimates(warehouse.projectDb(project.projectId), Date.now())
  const differences = await deps.store.listDifferences(audits.map(({ id }) => id))
  return { project: project.name, audits, differences, estimates, outcome, requests: requestCount(), notices }
}

const lockRetryMs = 1000

async function finishAudit(deps: AuditDeps, project: ProjectConfig, stream: AuditedStream) {
  try {
    for (;;) {
      const step = await runAudit(deps, stream)
      if (step.kind !== 'waiting') return step
      // A worker or another command is reading the stream.
      await sleep(lockRetryMs, undefined, { signal: deps.signal }).catch(() => {})
    }
  } catch (error) {
    if (error instanceof ApiError) throw fatalRunError(project, error.failure, true)
    throw error
  }
}

type AuditRunOptions = ServiceOptions &
  Pick<SyncRunOptions, 'isSliceOver' | 'maxFactsMs'> &
  Pick<AuditDeps, 'onRow'> & { readonly sampleSize?: number | undefined }

/** What an audit of a project needs, for the command and for workers. */
export function createAuditDeps(
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  service: Service,
  { sampleSize = project.auditSample, onRow, ...options }: AuditRunOptions,
): AuditDeps {
  const { projectId, schema } = project
  const mirrored = new Set(project.streams)
  /** Lists of children that fail are differences, too, so they do not stop it. */
  const catchUp: AuditDeps['catchUp'] = async ({ stream }) => {
    const streams = auditedNames(mirrored, stream)
    const lock = await acquireStreamLocks(warehouse.projectDb(projectId), streams, Date.now())
    if (!lock.held) return 'not yet'
    const { run, isLockLost } = await runSyncUnderLock(lock, warehouse, budgets, project, {
      ...options,
      ...{ signal: service.signal, mode: 'incremental', streams, onProgress: () => {} },
    })
    if (run.fatalFailure !== null) throw new ApiError(run.fatalFailure)
    const isListRead = run.reports.some((report) => report.stream === stream && report.failed === null)
    return !isLockLost && run.outcome !== 'interrupted' && isListRead ? 'done' : 'not yet'
  }
  return {
    ...project,
    streams: mirrored,
    get: service.client.get,
    mirror: openMirror(warehouse, projectId, { schema }),
    store: createAuditStore(warehouse.projectDb(projectId)),
    sampleSize,
    random: Math.random,
    requestCount: service.client.requestCount,
    now: Date.now,
    signal: service.signal,
    catchUp,
    isSliceOver: options.isSliceOver,
    onRow,
  }
}
