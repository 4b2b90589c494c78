/** A project whose key the service denies rests, alone, until some time has passed or its key is another. */
import type { ProjectConfig } from '../../config.ts'
import { describe, type Failure } from '../../core/failure.ts'
import type { Ms } from '../../core/time.ts'
import { fingerprint } from '../budgets.ts'
import type { Means } from './means.ts'

export type Paused = { readonly kind: 'paused'; readonly why: string; readonly forMs: Ms }

/** How long it rests before it is tried again. */
const restMs = 15 * 60_000

/** `noted`: a rest is written down, be it over or not. */
export async function restOf(
  { warehouse }: Pick<Means, 'warehouse'>,
  project: ProjectConfig,
): Promise<{ readonly paused: Paused | null; readonly noted: boolean }> {
  const pause = await warehouse.fleet.pauseOf(project.projectId)
  const forMs = pause === null || pause.key !== fingerprint(project) ? 0 : pause.until - Date.now()
  return {
    paused: pause === null || forMs <= 0 ? null : { kind: 'paused', why: pause.why, forMs },
    noted: pause !== null,
  }
}

export async function rest({ warehouse, log }: Means, project: ProjectConfig, denied: Failure): Promise<Paused> {
  const why = describe(denied)
  log.error({ event: 'project.paused', project: project.name, why, for_ms: restMs })
  await warehouse.fleet.pause(project.projectId, { until: Date.now() + restMs, key: fingerprint(project), why })
  return { kind: 'paused', why, forMs: restMs }
}
