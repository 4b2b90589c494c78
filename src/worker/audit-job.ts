/**
 * A whole audit of one stream of a project, in one job: an interrupted one is lost, and the next
 * draws again.
 */
import { createAuditDeps } from '../app/audit.ts'
import { openMirror } from '../app/facts.ts'
import type { ProjectConfig } from '../config/config.ts'
import { auditedStreams } from '../mirror/core/audit.ts'
import { canAudit, runAudit } from '../mirror/verify/audit.ts'
import { withOpened } from '../values/with-opened.ts'
import {
  currentPause,
  endByFailure,
  openWorkerService,
  serviceOptions,
  type WorkerResources,
} from './resources.ts'
import type { SliceOptions, SyncSliceResult } from './sync-slice.ts'

/** `sliceMs`: of its sync. `signal`: interrupts it within seconds. */
export async function runAuditJob(
  resources: WorkerResources,
  project: ProjectConfig,
  { stream: name, sliceMs, signal }: Omit<SliceOptions, 'mode'>,
): Promise<SyncSliceResult> {
  const stream = auditedStreams.find((audited) => audited === name)
  if (stream === undefined) return { kind: 'done', outcome: 'complete', changed: 0 }
  const { warehouse, budgets, log, metrics } = resources
  const { pause } = await currentPause(resources, project)
  if (pause !== null) return pause
  const mirror = openMirror(warehouse, project.projectId)
  if (!(await canAudit(mirror, new Set(project.streams), stream)))
    return { kind: 'done', outcome: 'gaps', changed: 0 }
  const options = { ...serviceOptions(resources, project, signal), sliceMs }
  try {
    const { result, notices } = await withOpened((use) => {
      const service = openWorkerService(use, resources, project, signal, 'audit')
      return runAudit(createAuditDeps(warehouse, budgets, project, service, options), stream)
    })
    metrics.countAudit(project.name, result)
    const { population, compared, differing, corrected, gone, unreadable, requests, tookMs } =
      result
    log[differing === 0 ? 'info' : 'warn']({
      event: 'audit.ended',
      project: project.name,
      stream,
      population,
      compared,
      differing,
      corrected,
      gone,
      unreadable,
      requests,
      took_ms: tookMs,
    })
    for (const notice of notices)
      log.warn({ event: 'sync.noticed', project: project.name, stream, notice })
    return { kind: 'done', outcome: 'complete', changed: differing }
  } catch (error) {
    const end = await endByFailure(resources, project, error)
    if (end.kind === 'interrupted')
      log.info({ event: 'audit.interrupted', project: project.name, stream })
    return end
  }
}
