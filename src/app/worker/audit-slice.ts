/** One time slice of an audit: reads a part of the sample again, and finishes when all of it has been read. */
import type { ProjectConfig } from '../../config/config.ts'
import { ApiError, describeFailure } from '../../core/api-failure.ts'
import type { AuditedStream, AuditResult } from '../../core/audit.ts'
import { isMassDeletion } from '../../core/mass-deletion.ts'
import { isStopped } from '../../sync/stop.ts'
import { type AuditStep, runAudit } from '../../verify/audit.ts'
import { massDeletionNotice } from '../audit.ts'
import { canAudit, createAuditDeps } from '../audit-deps.ts'
import { currentPause, pauseProject } from './project-pause.ts'
import { serviceOptions, type WorkerResources, withWorkerService } from './resources.ts'
import type { SliceLimits, SyncSliceResult } from './sync-slice.ts'

export type AuditSliceOptions = SliceLimits & { readonly stream: AuditedStream }

export async function runAuditSlice(
  resources: WorkerResources,
  project: ProjectConfig,
  { stream, sliceMs, signal }: AuditSliceOptions,
): Promise<SyncSliceResult> {
  const { warehouse, budgets } = resources
  const { pause } = await currentPause(resources, project)
  if (pause !== null) return pause
  if (!(await canAudit(warehouse, project, stream))) return { kind: 'done', outcome: 'gaps', changed: 0 }
  const endsAt = performance.now() + sliceMs
  const options = serviceOptions(resources, project, signal)
  try {
    const step = await withWorkerService(resources, project, signal, 'audit', (service) => {
      const isSliceOver = () => performance.now() >= endsAt
      const sampleSize = project.auditSample
      const context = { warehouse, budgets, project, service, serviceOptions: options, sampleSize }
      return runAudit(createAuditDeps({ ...context, isSliceOver, maxFactsMs: sliceMs }), stream)
    })
    return toSliceResult(resources, project, step)
  } catch (error) {
    if (isStopped(error)) return signal.aborted ? { kind: 'interrupted' } : { kind: 'more', mode: 'audit' }
    if (!(error instanceof ApiError)) throw error
    if (error.failure.kind === 'denied') return pauseProject(resources, project, error.failure)
    return { kind: 'failed', why: describeFailure(error.failure) }
  }
}

function toSliceResult(resources: WorkerResources, project: ProjectConfig, step: AuditStep): SyncSliceResult {
  if (step.kind === 'waiting') return { kind: 'busy', holder: 'a sync' }
  resources.metrics.countAudit(project.name, step.result)
  logResult(resources, project, step.result)
  return { kind: 'done', outcome: 'complete', changed: step.result.differing }
}

function logResult({ log }: WorkerResources, { name: project }: ProjectConfig, result: AuditResult): void {
  const { stream, population, drawn, compared, differing, gone, unreadable, requests, tookMs: took_ms } = result
  const fields = { project, stream, population, compared, differing, gone, unreadable, requests, took_ms }
  log[differing === 0 ? 'info' : 'warn']({ event: 'audit.ended', ...fields })
  if (isMassDeletion(gone, drawn))
    log.warn({ event: 'sync.noticed', project, stream, notice: massDeletionNotice(result) })
}
