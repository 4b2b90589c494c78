/** Write-backs in a worker: which lanes can be worked on, and one of them for a while. */
import type { ProjectConfig } from '../../config/load.ts'
import { ApiError, describeFailure } from '../../core/api-failure.ts'
import type { ClaimableWriteback } from '../../core/outbox/repository.ts'
import type { WritebackStatus } from '../../core/outbox/state.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import type { Ms } from '../../core/time.ts'
import { toClaimFilter, isBlocked } from '../../writeback/send/circuit-breaker.ts'
import { workLane } from '../../writeback/send/lane.ts'
import { operationsWithoutScope } from '../../writeback/send/missing-scopes.ts'
import { withRequestCounting } from '../request-counting.ts'
import { withoutProjectNotices } from '../writeback-notices.ts'
import { withService } from '../service.ts'
import { maxConcurrentLanes, readOnlySetting, writebackDeps } from '../writeback-deps.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { type WorkerResources, serviceOptions } from './resources.ts'
import { type PausedResult, pauseProject, currentPause } from './project-pause.ts'

export type LaneSliceOptions = { readonly lane: string; readonly sliceMs: Ms; readonly signal: AbortSignal }

export type LaneSliceResult =
  /** Nothing in it can be worked on now. */
  | { readonly kind: 'done' }
  /** The portion is over and there is more. */
  | { readonly kind: 'more' }
  /** This process works on as many of the project's lanes as it should. */
  | { readonly kind: 'busy' }
  | PausedResult
  /** It is due again later. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' }

export type OutboxLanes = {
  /** Some lanes of each of these projects that can be worked on now, oldest first. */
  readonly findReady: (
    projects: readonly ProjectConfig[],
  ) => Promise<readonly { readonly project: string; readonly lane: string }[]>
  readonly runSlice: (project: ProjectConfig, ask: LaneSliceOptions) => Promise<LaneSliceResult>
}

/** Announced at a time, of one project: the next ones are found when these are done. */
const maxReadyLanes = 2 * maxConcurrentLanes

export function createOutboxLanes(resources: WorkerResources): OutboxLanes {
  const { warehouse } = resources
  const circuitBreaker = createCircuitBreaker(resources)
  const runningSlices = new Map<string, number>()
  const warnOfNoProject = createNoProjectWarning(resources)

  const recalled = new Set<string>()
  const recallOnce = async (projects: readonly ProjectConfig[]) => {
    for (const { projectId } of projects.filter((one) => !recalled.has(one.projectId))) {
      await warehouse.outboxAdmin(projectId).revokeSending(readOnlySetting)
      recalled.add(projectId)
    }
  }
  const findReadyLanes = async (project: ProjectConfig) => {
    if ((await currentPause(resources, project)).paused !== null) return []
    const { held, lacking: missingScopes } = await circuitBreaker.stateOf(project)
    const part = toClaimFilter(held, missingScopes)
    const lanes = await warehouse.outbox(project.projectId).findClaimable(Date.now(), maxReadyLanes, part)
    return lanes.map(({ lane }) => ({ project: project.name, lane }))
  }
  const runOneSlice = async (project: ProjectConfig, options: LaneSliceOptions): Promise<LaneSliceResult> => {
    const { paused } = await currentPause(resources, project)
    if (paused !== null) return paused
    const { held, lacking: missingScopes } = await circuitBreaker.stateOf(project)
    return runLaneSlice(resources, project, options, {
      isHeldBack: (next) => isBlocked(held, missingScopes, next),
      onMissingScopes: (operations) => circuitBreaker.recordMissingScopes(project, operations),
    })
  }

  return {
    findReady: async (projects) => {
      const writable = projects.filter(({ readOnly }) => !readOnly)
      await recallOnce(projects.filter(({ readOnly }) => readOnly))
      const [only] = writable
      if (only !== undefined && projects.length === 1) await warehouse.outboxAdmin(only.projectId).assignProject()
      const waiting = await warehouse.projects.listWithWritebacks()
      await warnOfNoProject(projects.length > 1 && waiting.has(''))
      return (await Promise.all(writable.filter(({ projectId }) => waiting.has(projectId)).map(findReadyLanes))).flat()
    },
    runSlice: async (project, options) => {
      const { projectId } = project
      const count = runningSlices.get(projectId) ?? 0
      if (count >= maxConcurrentLanes) return { kind: 'busy' }
      runningSlices.set(projectId, count + 1)
      return runOneSlice(project, options).finally(() => runningSlices.set(projectId, (runningSlices.get(projectId) ?? 1) - 1))
    },
  }
}

/** Said once, until there are none. With a single project they may just have come, and are taken the next time. */
function createNoProjectWarning({ warehouse, log }: WorkerResources): (hasRows: boolean) => Promise<void> {
  let hadRows = false
  return async (hasRows) => {
    const [why] = hasRows && !hadRows ? withoutProjectNotices(await warehouse.projects.countWithoutProject()) : []
    if (why !== undefined) log.warn({ event: 'writebacks.nameless', why })
    hadRows = hasRows
  }
}

type LaneSliceHooks = {
  readonly isHeldBack: (next: ClaimableWriteback) => boolean
  readonly onMissingScopes: (operations: readonly Operation[]) => void
}

async function runLaneSlice(
  resources: WorkerResources,
  project: ProjectConfig,
  { lane, sliceMs, signal }: LaneSliceOptions,
  { isHeldBack, onMissingScopes }: LaneSliceHooks,
): Promise<LaneSliceResult> {
  const { warehouse, budgets, log, onSettled } = resources
  const [head] = await warehouse.outbox(project.projectId).findClaimable(Date.now(), 1, { lane })
  if (head === undefined || isHeldBack(head)) return { kind: 'done' }
  const endsAt = performance.now() + sliceMs
  return withService(project, budgets.forProject(project), serviceOptions(resources, project, signal), async (service) => {
    try {
      const hooks = {
        canContinue: (next: ClaimableWriteback) => performance.now() < endsAt && !isHeldBack(next),
        onSettled: (status: WritebackStatus) => onSettled(project.name, status),
      }
      const deps = writebackDeps(warehouse, project, service, log)
      const failure = await withRequestCounting(warehouse, project, 'writebacks', service, () => workLane(deps, head, hooks))
      if (signal.aborted) return { kind: 'interrupted' }
      if (failure !== null) return { kind: 'failed', why: describeFailure(failure) }
      return { kind: performance.now() < endsAt ? 'done' : 'more' }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const missingScopes = operationsWithoutScope(head.operation, error)
      if (missingScopes.length > 0) onMissingScopes(missingScopes)
      else if (error.failure.kind === 'denied') return pauseProject(resources, project, error.failure)
      return { kind: 'failed', why: describeFailure(error.failure) }
    }
  })
}
