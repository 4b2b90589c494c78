/** Runs an audit: reads a random sample of the mirror again, corrects what differs, and says what follows. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { auditedStreams, estimateDifferences, pooledMs } from '../mirror/core/audit.ts'
import { isMassDeletion } from '../mirror/core/mirror.ts'
import type { AuditDeps, AuditedStream, AuditReport, AuditResult, SyncProgress } from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { acquireStreamLocks } from '../mirror/sql/stream-locks.ts'
import { isStopped } from '../mirror/sync/concurrency.ts'
import { createRunStats } from '../mirror/sync/run.ts'
import { runAudit } from '../mirror/verify/audit.ts'
import { auditedChild } from '../mirror/verify/compare-parent.ts'
import { ApiError } from '../service/core/api-failure.ts'
import { formatCount } from '../values/format.ts'
import { openMirror } from './mirror.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import { fatalRunError, type Service, type ServiceOptions, withProject, withRequestCounting } from './service.ts'
import { runSyncUnderLock, type SyncRunOptions } from './sync.ts'

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
    if (!(await canAudit(warehouse, project, stream))) {
      notices.push(`${stream} cannot be audited before a sync has read them and what belongs to them to the end`)
      continue
    }
    const result = await finishAudit(deps, project, stream)
    if (result === null) outcome = 'interrupted'
    else audits.push(result)
    if (result !== null && isMassDeletion(result.gone, result.drawn)) notices.push(massDeletionNotice(result))
  }
  notices.push(...deps.notices)
  const estimates = estimateDifferences(await deps.store.listFinished(Date.now() - pooledMs), Date.now())
  const differences = await deps.store.listDifferences(audits.map(({ id }) => id))
  return { project: project.name, audits, differences, estimates, outcome, requests: requestCount(), notices }
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
  /** Lists of children that fail are differences, too, so they do not stop it. */
  const catchUp: AuditDeps['catchUp'] = async ({ stream }) => {
    const streams = auditedNames(project, stream)
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
    mode: 'reconcile',
    streams: new Set(project.streams),
    get: service.client.get,
    mirror: openMirror(warehouse, projectId, { schema }),
    store: createAuditStore(warehouse.projectDb(projectId)),
    stats: createRunStats(Date.now, () => {}),
    notices: new Set(),
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

/** Whether the stream and its children have been read to their end once: before that, the mirror is known to be incomplete. */
export async function canAudit(warehouse: Warehouse, project: ProjectConfig, stream: AuditedStream): Promise<boolean> {
  if (!project.streams.includes(stream)) return false
  const names = auditedNames(project, stream)
  const statuses = await openMirror(warehouse, project.projectId).readStreamStatuses(names)
  return names.every((name) => statuses.get(name) === 'complete')
}

function auditedNames({ streams }: ProjectConfig, stream: AuditedStream) {
  const child = auditedChild(stream, new Set(streams))
  return child === null ? [stream] : [stream, child.name]
}
