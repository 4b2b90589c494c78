/** Pauses a project whose key the service denies, until some time has passed or the key changes. */

import { keyFingerprint } from '../app/request-budgets.ts'
import type { ProjectConfig } from '../config/config.ts'
import { type ApiFailure, describeFailure } from '../service/core/api-failure.ts'
import type { Ms } from '../values/time.ts'
import type { WorkerResources } from './resources.ts'

export type PausedResult = { readonly kind: 'paused'; readonly why: string; readonly forMs: Ms }

const pauseMs = 15 * 60_000

/** `pause` null: the project is not paused. `isRecorded`: a pause is stored, even if it is over. */
export async function currentPause(
  { warehouse }: Pick<WorkerResources, 'warehouse'>,
  project: ProjectConfig,
): Promise<{ readonly pause: PausedResult | null; readonly isRecorded: boolean }> {
  const stored = await warehouse.projects.readPause(project.projectId)
  const forMs = stored === null || stored.keyFingerprint !== keyFingerprint(project) ? 0 : stored.until - Date.now()
  return {
    pause: stored === null || forMs <= 0 ? null : { kind: 'paused', why: stored.why, forMs },
    isRecorded: stored !== null,
  }
}

export async function pauseProject(
  { warehouse, log }: WorkerResources,
  project: ProjectConfig,
  denied: ApiFailure,
): Promise<PausedResult> {
  const why = describeFailure(denied)
  log.error({ event: 'project.paused', project: project.name, why, for_ms: pauseMs })
  await warehouse.projects.setPause(project.projectId, {
    until: Date.now() + pauseMs,
    keyFingerprint: keyFingerprint(project),
    why,
  })
  return { kind: 'paused', why, forMs: pauseMs }
}
