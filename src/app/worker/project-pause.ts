/** A project whose key the service denies rests, alone, until some time has passed or its key is another. */
import type { ProjectConfig } from '../../config/load.ts'
import { describeFailure, type ApiFailure } from '../../core/api-failure.ts'
import type { Ms } from '../../core/time.ts'
import { keyFingerprint } from '../request-budgets.ts'
import type { WorkerResources } from './resources.ts'

export type PausedResult = { readonly kind: 'paused'; readonly why: string; readonly forMs: Ms }

/** How long it rests before it is tried again. */
const pauseMs = 15 * 60_000

/** `noted`: a rest is written down, be it over or not. */
export async function currentPause(
  { warehouse }: Pick<WorkerResources, 'warehouse'>,
  project: ProjectConfig,
): Promise<{ readonly paused: PausedResult | null; readonly noted: boolean }> {
  const pause = await warehouse.projects.readPause(project.projectId)
  const forMs = pause === null || pause.keyFingerprint !== keyFingerprint(project) ? 0 : pause.until - Date.now()
  return {
    paused: pause === null || forMs <= 0 ? null : { kind: 'paused', why: pause.why, forMs },
    noted: pause !== null,
  }
}

export async function pauseProject({ warehouse, log }: WorkerResources, project: ProjectConfig, denied: ApiFailure): Promise<PausedResult> {
  const why = describeFailure(denied)
  log.error({ event: 'project.paused', project: project.name, why, for_ms: pauseMs })
  await warehouse.projects.setPause(project.projectId, { until: Date.now() + pauseMs, keyFingerprint: keyFingerprint(project), why })
  return { kind: 'paused', why, forMs: pauseMs }
}
