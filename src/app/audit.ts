/** Runs an audit: reads a random sample again, corrects what differs, and says what follows. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { auditedStreams } from '../mirror/core/audit.ts'
import type {
  AuditDeps,
  AuditedStream,
  AuditReport,
  AuditResult,
  Difference,
  SyncProgress,
} from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { readAuditEstimates } from '../mirror/sql/mirror-state.ts'
import { auditedNames, canAudit, runAudit } from '../mirror/verify/audit.ts'
import { ApiError, throwIfAborted } from '../service/core/api-failure.ts'
import type { Ms } from '../values/time.ts'
import { withOpened } from '../values/with-opened.ts'
import { openMirror } from './facts.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import {
  type CommandOptions,
  openProject,
  type Service,
  type ServiceOptions,
  startRequestCounting,
} from './service.ts'
import { acquireLocks } from './stream-locks.ts'
import { runSyncUnderLock } from './sync.ts'

type AuditOptions = CommandOptions & {
  /** How many rows of each stream; undefined = as configured. */
  readonly sampleSize: number | undefined
  readonly onProgress: (progress: SyncProgress) => void
}

/** Throws ApiError, and UserError: a warehouse that cannot be used. */
export function auditProject(
  config: Config,
  project: ProjectConfig,
  options: AuditOptions,
): Promise<AuditReport> {
  return withOpened(async (use) => {
    const { service, warehouse, budgets } = await openProject(use, config, project, options)
    use(startRequestCounting(warehouse, project, 'audit', service))
    return auditStreams(warehouse, budgets, project, service, options)
  })
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
  const differences: Difference[] = []
  const notices: string[] = []
  let outcome: AuditReport['outcome'] = 'complete'
  for (const stream of auditedStreams.filter((name) => project.streams.includes(name))) {
    if (!(await canAudit(deps.mirror, deps.streams, stream))) {
      notices.push(
        `${stream} cannot be audited before a sync has read them and ` +
          'what belongs to them to the end',
      )
      continue
    }
    const finished = await runAudit(deps, stream).catch(nullIfInterrupted)
    if (finished === null) {
      outcome = 'interrupted'
      break
    }
    audits.push(finished.result)
    differences.push(...finished.differences)
    notices.push(...finished.notices)
  }
  const estimates = await readAuditEstimates(warehouse.projectDb(project.projectId), Date.now())
  return {
    project: project.name,
    audits,
    differences,
    estimates,
    outcome,
    requests: requestCount(),
    notices,
  }
}

function nullIfInterrupted(error: unknown): null {
  if (error instanceof ApiError && error.failure.kind === 'aborted') return null
  throw error
}

type AuditRunOptions = ServiceOptions &
  Pick<AuditDeps, 'onRow'> & {
    readonly sampleSize?: number | undefined
    /** After this time its sync releases the streams, as others read them, too. */
    readonly sliceMs?: Ms
  }

/** What an audit of a project needs, for the command and for workers. */
export function createAuditDeps(
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  service: Service,
  { sampleSize = project.auditSample, sliceMs = 20_000, onRow, ...options }: AuditRunOptions,
): AuditDeps {
  const { projectId, schema, history } = project
  const syncOptions = { ...options, sliceMs, signal: service.signal }
  return {
    ...project,
    streams: new Set(project.streams),
    get: service.mirrorGet,
    mirror: openMirror(warehouse, projectId, { schema, history, columns: service.columns }),
    store: createAuditStore(warehouse.projectDb(projectId)),
    sampleSize,
    random: Math.random,
    requestCount: service.client.requestCount,
    now: Date.now,
    signal: service.signal,
    catchUp: (stream) => catchUp(warehouse, budgets, project, stream, syncOptions),
    onRow,
  }
}

/** Lists of children that fail are differences, too, so they do not end it. */
async function catchUp(
  warehouse: Warehouse,
  budgets: RequestBudgets,
  project: ProjectConfig,
  stream: AuditedStream,
  { sliceMs, ...options }: ServiceOptions & { readonly sliceMs: Ms },
): Promise<void> {
  const { signal, log } = options
  const streams = auditedNames(new Set(project.streams), stream)
  for (;;) {
    const waiting = acquireLocks(warehouse, project, { streams, wait: true, signal, log })
    const lock = await waiting.catch((error) => {
      throwIfAborted(signal)
      throw error
    })
    const endsAt = performance.now() + sliceMs
    const { run, isLockLost } = await runSyncUnderLock(lock, warehouse, budgets, project, {
      ...options,
      mode: 'incremental',
      streams,
      isSliceOver: () => performance.now() >= endsAt,
      maxFactsMs: sliceMs,
      onProgress: () => {},
    })
    throwIfAborted(signal)
    if (run.fatalFailure !== null) throw new ApiError(run.fatalFailure)
    if (isLockLost || run.outcome === 'interrupted') continue
    const why = run.reports.find((report) => report.stream === stream)?.failed ?? null
    if (why === null) return
    throw new ApiError({
      kind: 'transient',
      why,
      mayHaveBeenSent: true,
      status: null,
      requestId: null,
    })
  }
}
