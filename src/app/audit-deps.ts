/** What an audit of a project needs, for the command and for workers. */
import type { ProjectConfig } from '../config/config.ts'
import type { AuditedStream } from '../mirror/core/audit.ts'
import { createRunStats } from '../mirror/sync/run-stats.ts'
import type { AuditDeps, CatchUpResult } from '../mirror/verify/audit.ts'
import { auditedChild } from '../mirror/verify/compare-parent.ts'
import { ApiError } from '../service/core/api-failure.ts'
import type { Ms } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import type { RequestBudgets } from './request-budgets.ts'
import type { Service, ServiceOptions } from './service.ts'
import { runSyncUnderLock } from './sync-run.ts'

type AuditContext = {
  readonly warehouse: Warehouse
  readonly budgets: RequestBudgets
  readonly project: ProjectConfig
  readonly service: Service
  readonly serviceOptions: ServiceOptions
  readonly sampleSize: number
  /** For how long facts are derived after the incremental sync. */
  readonly maxFactsMs?: Ms
  readonly isSliceOver?: () => boolean
  readonly onRow?: (stream: AuditedStream) => void
}

export function createAuditDeps(context: AuditContext): AuditDeps {
  const { warehouse, project, service, sampleSize, isSliceOver, onRow } = context
  const { projectId, streams, startDate, schema } = project
  return {
    projectId,
    mode: 'reconcile',
    streams: new Set(streams),
    startDate,
    get: service.client.get,
    mirror: warehouse.mirror(projectId, { schema }),
    store: warehouse.audits(projectId),
    stats: createRunStats(Date.now, () => {}),
    notices: new Set(),
    sampleSize,
    random: Math.random,
    requestCount: service.client.requestCount,
    now: Date.now,
    signal: service.signal,
    catchUp: ({ stream }) => syncAudited(context, stream),
    ...(isSliceOver === undefined ? {} : { isSliceOver }),
    ...(onRow === undefined ? {} : { onRow }),
  }
}

/** Whether the stream and its children have been read to their end once: before that, the mirror is known to be incomplete. */
export async function canAudit(warehouse: Warehouse, project: ProjectConfig, stream: AuditedStream): Promise<boolean> {
  if (!project.streams.includes(stream)) return false
  const names = auditedNames(project, stream)
  const statuses = await warehouse.mirror(project.projectId).readStreamStatuses(names)
  return names.every((name) => statuses.get(name) === 'complete')
}

function auditedNames({ streams }: ProjectConfig, stream: AuditedStream) {
  const child = auditedChild(stream, new Set(streams))
  return child === null ? [stream] : [stream, child.name]
}

/** An incremental sync of the stream and its children. Lists of children that fail are differences, too, so they do not stop it. */
async function syncAudited(context: AuditContext, stream: AuditedStream): Promise<CatchUpResult> {
  const { warehouse, budgets, project, service, serviceOptions, maxFactsMs, isSliceOver } = context
  const streams = auditedNames(project, stream)
  const lock = await warehouse.lockStreams(project.projectId, streams, Date.now())
  if (!lock.held) return 'not yet'
  const { run, isLockLost } = await runSyncUnderLock(lock, warehouse, budgets, project, {
    ...serviceOptions,
    signal: service.signal,
    mode: 'incremental',
    streams,
    onProgress: () => {},
    ...(maxFactsMs === undefined ? {} : { maxFactsMs }),
    ...(isSliceOver === undefined ? {} : { isSliceOver }),
  })
  if (run.fatalFailure !== null) throw new ApiError(run.fatalFailure)
  const isListRead = run.reports.some((report) => report.stream === stream && report.failed === null)
  return !isLockLost && run.outcome !== 'interrupted' && isListRead ? 'done' : 'not yet'
}
