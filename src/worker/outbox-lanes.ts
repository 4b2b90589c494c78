/** Sends write-backs in a worker: finds the lanes that are ready, and works on one of them for a time slice. */

import { refreshFacts } from '../app/facts.ts'
import { findClockNotice } from '../app/outbox.ts'
import { maxConcurrentLanes, readOnlySetting, writebackDeps } from '../app/push.ts'
import { keyFingerprint } from '../app/request-budgets.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { ClaimableWriteback } from '../outbox/core/outbox-entry.ts'
import type { Operation } from '../outbox/core/writeback-request.ts'
import {
  circuitNotices,
  evaluateCircuits,
  isBlocked,
  operationsWithoutScope,
  outcomesConsidered,
  toClaimFilter,
  withoutProjectNotices,
} from '../outbox/send/circuit-breaker.ts'
import { sendLane } from '../outbox/send/lane.ts'
import { ApiError, describeFailure } from '../service/core/api-failure.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import { commandHintFor } from '../values/user-error.ts'
import { currentPause, type PausedResult, pauseProject, type WorkerResources, withWorkerService } from './resources.ts'

type LaneSliceOptions = { readonly lane: string; readonly sliceMs: Ms; readonly signal: AbortSignal }

export type LaneSliceResult =
  /** Nothing in the lane can be sent now. */
  | { readonly kind: 'done' }
  /** The time slice is over and there is more. */
  | { readonly kind: 'more' }
  /** This process already works on as many of the project's lanes as it may. */
  | { readonly kind: 'busy' }
  | PausedResult
  /** It is retried later. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'interrupted' }

/** Enqueued at a time, of one project: the next ones are found when these are done. */
const maxReadyLanes = 2 * maxConcurrentLanes

export function createOutboxLanes(resources: WorkerResources) {
  const { warehouse, log, isNewMessage } = resources
  const circuitBreaker = createCircuitBreaker(resources)
  const runningSlices = new Map<string, number>()
  const warnOfNoProject = createNoProjectWarning(resources)

  const revoked = new Set<string>()
  const revokeOnce = async (projects: readonly ProjectConfig[]) => {
    for (const { projectId } of projects.filter((project) => !revoked.has(project.projectId))) {
      await warehouse.outbox(projectId).revokeSending(readOnlySetting)
      revoked.add(projectId)
    }
  }
  const findReadyLanes = async (project: ProjectConfig) => {
    if ((await currentPause(resources, project)).pause !== null) return []
    if ((await resources.sendRecordOf(project).findHold()) !== null) return []
    const { openCircuits, missingScopes } = await circuitBreaker.stateOf(project)
    const claimFilter = toClaimFilter(openCircuits, missingScopes)
    const now = await warehouse.readClock()
    const lanes = await warehouse.outbox(project.projectId).findClaimable(now(), maxReadyLanes, claimFilter)
    return lanes.map(({ lane }) => ({ project: project.name, lane }))
  }
  const runOneSlice = async (project: ProjectConfig, options: LaneSliceOptions): Promise<LaneSliceResult> => {
    const { pause } = await currentPause(resources, project)
    if (pause !== null) return pause
    if ((await resources.sendRecordOf(project).findHold()) !== null) return { kind: 'done' }
    const { openCircuits, missingScopes } = await circuitBreaker.stateOf(project)
    const isHeldBack = (next: ClaimableWriteback) => isBlocked(openCircuits, missingScopes, next)
    return runLaneSlice(resources, project, options, isHeldBack, (operations) =>
      circuitBreaker.recordMissingScopes(project, operations),
    )
  }

  return {
    /** Some lanes of each of these projects that are ready now: those to be verified, then the others; oldest first. */
    findReady: async (projects: readonly ProjectConfig[]) => {
      const writable = projects.filter(({ readOnly }) => !readOnly)
      const [project] = writable
      if (project !== undefined && projects.length === 1) await warehouse.outbox(project.projectId).assignProject()
      const waiting = await warehouse.projects.listWithWritebacks()
      await revokeOnce(projects.filter(({ readOnly }) => readOnly))
      const clockNotice = project === undefined ? null : await findClockNotice(warehouse)
      if (clockNotice !== null && isNewMessage('clock.off')) log.warn({ event: 'clock.off', why: clockNotice })
      await warnOfNoProject(projects.length > 1 && waiting.has(''))
      return (await Promise.all(writable.filter(({ projectId }) => waiting.has(projectId)).map(findReadyLanes))).flat()
    },
    runSlice: async (project: ProjectConfig, options: LaneSliceOptions): Promise<LaneSliceResult> => {
      const { projectId } = project
      const count = runningSlices.get(projectId) ?? 0
      if (count >= maxConcurrentLanes) return { kind: 'busy' }
      runningSlices.set(projectId, count + 1)
      return runOneSlice(project, options).finally(() =>
        runningSlices.set(projectId, (runningSlices.get(projectId) ?? 1) - 1),
      )
    },
  }
}

/** Warns once, until there are none. With a single project such rows are assigned to it the next time. */
function createNoProjectWarning({ warehouse, log }: WorkerResources): (hasRows: boolean) => Promise<void> {
  let hadRows = false
  return async (hasRows) => {
    const [why] = hasRows && !hadRows ? withoutProjectNotices(await warehouse.projects.countWithoutProject()) : []
    if (why !== undefined) log.warn({ event: 'writebacks.without_project', why })
    hadRows = hasRows
  }
}

async function runLaneSlice(
  resources: WorkerResources,
  project: ProjectConfig,
  { lane, sliceMs, signal }: LaneSliceOptions,
  isHeldBack: (next: ClaimableWriteback) => boolean,
  onMissingScopes: (operations: readonly Operation[]) => void,
): Promise<LaneSliceResult> {
  const { warehouse, log, metrics } = resources
  const now = await warehouse.readClock()
  const [head] = await warehouse.outbox(project.projectId).findClaimable(now(), 1, { lane })
  if (head === undefined || isHeldBack(head)) return { kind: 'done' }
  const endsAt = performance.now() + sliceMs
  return withWorkerService(resources, project, signal, 'writebacks', async (service) => {
    try {
      const deps = resources.sendRecordOf(project).guard(await writebackDeps(warehouse, project, service, log))
      const failure = await sendLane(deps, head, {
        canContinue: (next: ClaimableWriteback) => performance.now() < endsAt && !isHeldBack(next),
        onSettled: ({ status }) => metrics.countSettled({ project: project.name, status }),
      })
      await warehouse.outbox(project.projectId).recordFinishedBatches()
      await refreshFacts(warehouse, project, { signal, maxMs: sliceMs, log })
      if (signal.aborted) return { kind: 'interrupted' }
      if (failure !== null) return { kind: 'failed', why: describeFailure(failure) }
      return { kind: performance.now() < endsAt ? 'done' : 'more' }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const missingScopes = operationsWithoutScope(head.operation, error.failure)
      if (missingScopes.length > 0) onMissingScopes(missingScopes)
      else if (error.failure.kind === 'denied') return pauseProject(resources, project, error.failure)
      return { kind: 'failed', why: describeFailure(error.failure) }
    }
  })
}

/** After this time, or with another key, a missing scope is tried again. */
const missingScopeTtlMs: Ms = 15 * 60_000

type MissingScopes = { readonly operations: readonly Operation[]; readonly key: string; readonly until: EpochMs }

function createCircuitBreaker({ warehouse, log }: WorkerResources) {
  const missingScopes = new Map<string, MissingScopes>()
  const logged = new Map<string, string>()
  /** Logs a reason once, until it changes. */
  const logOnce = ({ projectId, name }: ProjectConfig, why: string) => {
    if (why !== '' && logged.get(projectId) !== why) log.warn({ event: 'writebacks.circuit_open', project: name, why })
    logged.set(projectId, why)
  }
  const missingScopesOf = (project: ProjectConfig): readonly Operation[] => {
    const known = missingScopes.get(project.projectId)
    return known?.key === keyFingerprint(project) && known.until >= Date.now() ? known.operations : []
  }
  return {
    stateOf: async (project: ProjectConfig) => {
      const outcomes = await warehouse.outbox(project.projectId).listRecentOutcomes(outcomesConsidered)
      const openCircuits = evaluateCircuits(outcomes, Date.now())
      logOnce(project, circuitNotices(openCircuits, commandHintFor(project.name)).join(' '))
      return { openCircuits, missingScopes: missingScopesOf(project) }
    },
    recordMissingScopes: (project: ProjectConfig, operations: readonly Operation[]) => {
      const until = Date.now() + missingScopeTtlMs
      missingScopes.set(project.projectId, { operations, key: keyFingerprint(project), until })
    },
  }
}
