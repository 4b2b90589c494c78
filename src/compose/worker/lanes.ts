/** Write-backs in a worker: which lanes can be worked on, and one of them for a while. */
import type { ProjectConfig } from '../../config.ts'
import { CallFailed, describe } from '../../core/failure.ts'
import type { Ready } from '../../core/outbox/outbox.ts'
import type { Status } from '../../core/outbox/state.ts'
import type { Operation } from '../../core/outbox/wish.ts'
import type { Ms } from '../../core/time.ts'
import { partWithout, staysQueued } from '../../writeback/breaker.ts'
import { workLane } from '../../writeback/lane.ts'
import { outOfReach } from '../../writeback/scopes.ts'
import { counted } from '../counted.ts'
import { namelessNotices } from '../notices.ts'
import { withService } from '../service.ts'
import { lanesAtOnce, readOnlySetting, writebackDeps } from '../writebacks.ts'
import { createBrakes } from './brakes.ts'
import { type Means, serviceOptions } from './means.ts'
import { type Paused, rest, restOf } from './rest.ts'

export type LaneAsk = { readonly lane: string; readonly portionMs: Ms; readonly signal: AbortSignal }

export type LaneEnd =
  /** Nothing in it can be worked on now. */
  | { readonly kind: 'done' }
  /** The portion is over and there is more. */
  | { readonly kind: 'more' }
  /** This process works on as many of the project's lanes as it should. */
  | { readonly kind: 'busy' }
  | Paused
  /** It is due again later. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' }

export type Lanes = {
  /** Some lanes of each of these projects that can be worked on now, oldest first. */
  readonly ready: (
    projects: readonly ProjectConfig[],
  ) => Promise<readonly { readonly project: string; readonly lane: string }[]>
  readonly work: (project: ProjectConfig, ask: LaneAsk) => Promise<LaneEnd>
}

/** Announced at a time, of one project: the next ones are found when these are done. */
const announcedAtOnce = 2 * lanesAtOnce

export function openLanes(means: Means): Lanes {
  const { warehouse } = means
  const brakes = createBrakes(means)
  const working = new Map<string, number>()
  const tellNameless = namelessTeller(means)

  const recalled = new Set<string>()
  const recallOnce = async (projects: readonly ProjectConfig[]) => {
    for (const { projectId } of projects.filter((one) => !recalled.has(one.projectId))) {
      await warehouse.queueDesk(projectId).recall(readOnlySetting)
      recalled.add(projectId)
    }
  }
  const readyOf = async (project: ProjectConfig) => {
    if ((await restOf(means, project)).paused !== null) return []
    const { held, lacking } = await brakes.of(project)
    const part = partWithout(held, lacking)
    const lanes = await warehouse.outbox(project.projectId).ready(Date.now(), announcedAtOnce, part)
    return lanes.map(({ lane }) => ({ project: project.name, lane }))
  }
  const workOne = async (project: ProjectConfig, ask: LaneAsk): Promise<LaneEnd> => {
    const { paused } = await restOf(means, project)
    if (paused !== null) return paused
    const { held, lacking } = await brakes.of(project)
    return workFor(means, project, ask, {
      stays: (next) => staysQueued(held, lacking, next),
      onLacking: (operations) => brakes.noteLacking(project, operations),
    })
  }

  return {
    ready: async (projects) => {
      const own = projects.filter(({ readOnly }) => !readOnly)
      await recallOnce(projects.filter(({ readOnly }) => readOnly))
      const [only] = own
      if (only !== undefined && projects.length === 1) await warehouse.queueDesk(only.projectId).adopt()
      const waiting = await warehouse.fleet.withWritebacks()
      await tellNameless(projects.length > 1 && waiting.has(''))
      return (await Promise.all(own.filter(({ projectId }) => waiting.has(projectId)).map(readyOf))).flat()
    },
    work: async (project, ask) => {
      const { projectId } = project
      const count = working.get(projectId) ?? 0
      if (count >= lanesAtOnce) return { kind: 'busy' }
      working.set(projectId, count + 1)
      return workOne(project, ask).finally(() => working.set(projectId, (working.get(projectId) ?? 1) - 1))
    },
  }
}

/** Said once, until there are none. With a single project they may just have come, and are taken the next time. */
function namelessTeller({ warehouse, log }: Means): (are: boolean) => Promise<void> {
  let were = false
  return async (are) => {
    const [why] = are && !were ? namelessNotices(await warehouse.fleet.countNameless()) : []
    if (why !== undefined) log.warn({ event: 'writebacks.nameless', why })
    were = are
  }
}

type LaneHooks = {
  readonly stays: (next: Ready) => boolean
  readonly onLacking: (operations: readonly Operation[]) => void
}

async function workFor(
  means: Means,
  project: ProjectConfig,
  { lane, portionMs, signal }: LaneAsk,
  { stays, onLacking }: LaneHooks,
): Promise<LaneEnd> {
  const { warehouse, budgets, log, onSettled } = means
  const [head] = await warehouse.outbox(project.projectId).ready(Date.now(), 1, { lane })
  if (head === undefined || stays(head)) return { kind: 'done' }
  const endsAt = performance.now() + portionMs
  return withService(project, budgets.of(project), serviceOptions(means, project, signal), async (service) => {
    try {
      const hooks = {
        mayGoOn: (next: Ready) => performance.now() < endsAt && !stays(next),
        onSettled: (status: Status) => onSettled(project.name, status),
      }
      const deps = writebackDeps(warehouse, project, service, log)
      const trouble = await counted(warehouse, project, 'writebacks', service, () => workLane(deps, head, hooks))
      if (signal.aborted) return { kind: 'interrupted' }
      if (trouble !== null) return { kind: 'failed', why: describe(trouble) }
      return { kind: performance.now() < endsAt ? 'done' : 'more' }
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      const lacking = outOfReach(head.operation, error)
      if (lacking.length > 0) onLacking(lacking)
      else if (error.failure.kind === 'denied') return rest(means, project, error.failure)
      return { kind: 'failed', why: describe(error.failure) }
    }
  })
}
